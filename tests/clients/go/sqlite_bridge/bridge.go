// Package sqlite3 is a driver for tests, in the place of one that needs a compiler for C and a download: real SQLite, in a
// child process of python3 for each connection. When this process is killed, the child sees the end of its input and ends
// without a commit, as a driver in this process would.
package sqlite3

import (
	"bufio"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
)

const child = `
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
db.execute("PRAGMA journal_mode=WAL")
db.execute("PRAGMA synchronous=FULL")
for line in sys.stdin:
    sql, parameters = json.loads(line)
    try:
        cursor = db.execute(sql, parameters)
        rows = cursor.fetchall()
        names = [column[0] for column in cursor.description or ()]
        print(json.dumps({"changed": cursor.rowcount, "names": names, "rows": rows}), flush=True)
    except sqlite3.Error as error:
        print(json.dumps({"error": str(error)}), flush=True)
`

func init() { sql.Register("sqlite3", bridge{}) }

type bridge struct{}

// Open takes FILE or file:FILE?…, whose parameters are left out.
func (bridge) Open(name string) (driver.Conn, error) {
	file, _, _ := strings.Cut(strings.TrimPrefix(name, "file:"), "?")
	command := exec.Command("python3", "-c", child, file)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &connection{command, input, bufio.NewReader(output)}, command.Start()
}

type connection struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

type answer struct {
	Error   string   `json:"error"`
	Changed int64    `json:"changed"`
	Names   []string `json:"names"`
	Rows    [][]any  `json:"rows"`
}

func (c *connection) ask(sql string, parameters []driver.Value) (*answer, error) {
	if parameters == nil {
		parameters = []driver.Value{}
	}
	question, err := json.Marshal([]any{sql, parameters})
	if err != nil {
		return nil, err
	}
	if _, err := c.input.Write(append(question, '\n')); err != nil {
		return nil, driver.ErrBadConn
	}
	line, err := c.output.ReadBytes('\n')
	if err != nil {
		return nil, driver.ErrBadConn
	}
	decoder := json.NewDecoder(strings.NewReader(string(line)))
	decoder.UseNumber()
	var given answer
	if err := decoder.Decode(&given); err != nil {
		return nil, err
	}
	if given.Error != "" {
		return nil, errors.New(given.Error)
	}
	return &given, nil
}

func (c *connection) Prepare(sql string) (driver.Stmt, error) { return &statement{c, sql}, nil }

func (c *connection) Begin() (driver.Tx, error) {
	_, err := c.ask("BEGIN", nil)
	return transaction{c}, err
}

func (c *connection) Close() error {
	c.input.Close()
	return c.command.Wait()
}

type transaction struct{ connection *connection }

func (t transaction) Commit() error {
	_, err := t.connection.ask("COMMIT", nil)
	return err
}

func (t transaction) Rollback() error {
	_, err := t.connection.ask("ROLLBACK", nil)
	return err
}

type statement struct {
	connection *connection
	sql        string
}

func (s *statement) Close() error  { return nil }
func (s *statement) NumInput() int { return -1 }

func (s *statement) Exec(parameters []driver.Value) (driver.Result, error) {
	given, err := s.connection.ask(s.sql, parameters)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(given.Changed), nil
}

func (s *statement) Query(parameters []driver.Value) (driver.Rows, error) {
	given, err := s.connection.ask(s.sql, parameters)
	if err != nil {
		return nil, err
	}
	return &rows{given}, nil
}

type rows struct{ left *answer }

func (r *rows) Columns() []string { return r.left.Names }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(into []driver.Value) error {
	if len(r.left.Rows) == 0 {
		return io.EOF
	}
	for index, value := range r.left.Rows[0] {
		if number, isNumber := value.(json.Number); isNumber {
			value = number.String() // Scan reads it.
		}
		into[index] = value
	}
	r.left.Rows = r.left.Rows[1:]
	return nil
}
