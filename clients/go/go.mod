module ackbox

go 1.19
