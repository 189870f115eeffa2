module tests

go 1.19

require (
	ackbox v0.0.0
	github.com/mattn/go-sqlite3 v1.14.16
)

replace (
	ackbox => ../../../clients/go
	github.com/mattn/go-sqlite3 => ./sqlite_bridge
)
