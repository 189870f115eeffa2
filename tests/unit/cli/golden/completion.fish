# fish completion for ackbox; made by `ackbox completion fish`
complete -c ackbox -f
complete -c ackbox -n __fish_use_subcommand -a init -d 'Make a configuration, tokens and keys for agents on this machine, and print the commands that start them'
complete -c ackbox -n '__fish_seen_subcommand_from init' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from init' -l folder -d 'Where the files are made (default: the current folder)' -rF
complete -c ackbox -n '__fish_seen_subcommand_from init' -l port -d 'The first agent'\''s port; its inbox has this port plus 10 (default 7070)' -x
complete -c ackbox -n '__fish_seen_subcommand_from init' -l json -d 'Print the files, one JSON object a line'
complete -c ackbox -n __fish_use_subcommand -a serve -d 'Deliver the outbox'\''s messages, and serve it over HTTP to programs of any language, until SIGTERM'
complete -c ackbox -n '__fish_seen_subcommand_from serve' -F
complete -c ackbox -n '__fish_seen_subcommand_from serve' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from serve' -l config -d 'A configuration file; --fields lists what may be in it' -rF
complete -c ackbox -n '__fish_seen_subcommand_from serve' -l listen -d 'unix:PATH, or an address and a port (default 127.0.0.1:7070)' -x
complete -c ackbox -n '__fish_seen_subcommand_from serve' -l set -d 'Any field of the configuration: outbox.max_pending=5000' -x
complete -c ackbox -n '__fish_seen_subcommand_from serve' -l check-config -d 'Only check the configuration, and say what is wrong with it'
complete -c ackbox -n '__fish_seen_subcommand_from serve' -l fields -d 'Only list the fields of a configuration, with type, default, range and meaning'
complete -c ackbox -n __fish_use_subcommand -a health -d 'Ask a running serve whether it is ready: exit status 0 if it is, 1 if it is not or does not answer'
complete -c ackbox -n '__fish_seen_subcommand_from health' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from health' -l url -d 'http://address:port or unix:PATH (default http://127.0.0.1:7070)' -x
complete -c ackbox -n '__fish_seen_subcommand_from health' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from health' -l timeout -d 'For the whole answer, the connection included (default 3s)' -x
complete -c ackbox -n __fish_use_subcommand -a stats -d 'Show gauges and totals'
complete -c ackbox -n '__fish_seen_subcommand_from stats' -F
complete -c ackbox -n '__fish_seen_subcommand_from stats' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from stats' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from stats' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from stats' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n __fish_use_subcommand -a top -d 'Show figures, rates, peers and sessions, again and again'
complete -c ackbox -n '__fish_seen_subcommand_from top' -F
complete -c ackbox -n '__fish_seen_subcommand_from top' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from top' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from top' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from top' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from top' -l interval -d 'The time between two looks (default 2s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from top' -l count -d 'End after this many looks; 0: never (default; 1 without a terminal)' -x
complete -c ackbox -n __fish_use_subcommand -a peers -d 'List the peers: whether each is up, down, held, disabled or paused, since when, and why'
complete -c ackbox -n '__fish_seen_subcommand_from peers' -F
complete -c ackbox -n '__fish_seen_subcommand_from peers' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from peers' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from peers' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from peers' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n __fish_use_subcommand -a sessions -d 'List sessions with work, and where each stands'
complete -c ackbox -n '__fish_seen_subcommand_from sessions' -F
complete -c ackbox -n '__fish_seen_subcommand_from sessions' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from sessions' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from sessions' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from sessions' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from sessions' -l peer -d 'Sessions of this peer' -x
complete -c ackbox -n '__fish_seen_subcommand_from sessions' -l all -d 'Also sessions without live messages and dead letters'
complete -c ackbox -n '__fish_seen_subcommand_from sessions' -l limit -d 'At most this many; 0: all (default 100)' -x
complete -c ackbox -n '__fish_seen_subcommand_from sessions' -l after -d 'Continue after this row' -x
complete -c ackbox -n __fish_use_subcommand -a blocked -d 'List sessions that a dead letter stopped, and what waits behind it'
complete -c ackbox -n '__fish_seen_subcommand_from blocked' -F
complete -c ackbox -n '__fish_seen_subcommand_from blocked' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from blocked' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from blocked' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from blocked' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from blocked' -l limit -d 'At most this many; 0: the most possible, 10000 (default 100)' -x
complete -c ackbox -n __fish_use_subcommand -a list -d 'List messages, in the order of their enqueues, or the newest first'
complete -c ackbox -n '__fish_seen_subcommand_from list' -F
complete -c ackbox -n '__fish_seen_subcommand_from list' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from list' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from list' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from list' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from list' -l state -d 'Only those in this state' -x -a 'pending sending sent acked failed'
complete -c ackbox -n '__fish_seen_subcommand_from list' -l peer -d 'Messages of this peer' -x
complete -c ackbox -n '__fish_seen_subcommand_from list' -l session -d 'Messages of this session' -x
complete -c ackbox -n '__fish_seen_subcommand_from list' -l type -d 'Messages of this type' -x
complete -c ackbox -n '__fish_seen_subcommand_from list' -l reason -d 'Dead letters with exactly this reason' -x
complete -c ackbox -n '__fish_seen_subcommand_from list' -l error -d 'Dead letters whose last error contains this' -x
complete -c ackbox -n '__fish_seen_subcommand_from list' -l since -d 'Messages enqueued at this time or later: 2h ago, or an instant' -x
complete -c ackbox -n '__fish_seen_subcommand_from list' -l before -d 'Messages enqueued before this time' -x
complete -c ackbox -n '__fish_seen_subcommand_from list' -l newest -d 'The newest messages first'
complete -c ackbox -n '__fish_seen_subcommand_from list' -l limit -d 'At most this many; 0: all (default 100)' -x
complete -c ackbox -n '__fish_seen_subcommand_from list' -l after -d 'Continue after this row' -x
complete -c ackbox -n __fish_use_subcommand -a show -d 'Show a message with its data'
complete -c ackbox -n '__fish_seen_subcommand_from show' -F
complete -c ackbox -n '__fish_seen_subcommand_from show' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from show' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from show' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from show' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n __fish_use_subcommand -a explain -d 'Say why a message is not moving'
complete -c ackbox -n '__fish_seen_subcommand_from explain' -F
complete -c ackbox -n '__fish_seen_subcommand_from explain' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from explain' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from explain' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from explain' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n __fish_use_subcommand -a verify -d 'Check every invariant of the outbox'
complete -c ackbox -n '__fish_seen_subcommand_from verify' -F
complete -c ackbox -n '__fish_seen_subcommand_from verify' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from verify' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from verify' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from verify' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n __fish_use_subcommand -a senders -d 'List the senders of received frames and the records kept for each, or the stores of one sender'
complete -c ackbox -n '__fish_seen_subcommand_from senders' -F
complete -c ackbox -n '__fish_seen_subcommand_from senders' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from senders' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from senders' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from senders' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from senders' -l limit -d 'At most this many; 0: the most possible, 10000 (default 100)' -x
complete -c ackbox -n __fish_use_subcommand -a inbox -d 'List deferred frames: those received, stored and not done yet, such as all that serve gives to applications'
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -F
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -l source -d 'Frames of this sender, by its agent URI' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -l session -d 'Frames of this session' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -l mailbox -d 'Frames in the mailbox of this agent' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -l state -d 'Only those in this state' -x -a 'waiting unattended behind running backoff ended'
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -l limit -d 'At most this many; 0: all (default 100)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox' -l after -d 'Continue after this row' -x
complete -c ackbox -n __fish_use_subcommand -a inbox-show -d 'Show a deferred frame with its data and its last error'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-show' -F
complete -c ackbox -n '__fish_seen_subcommand_from inbox-show' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-show' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-show' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-show' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-show' -l source -d 'Its sender, by its agent URI, where several use the id' -x
complete -c ackbox -n __fish_use_subcommand -a inbox-explain -d 'Say why a deferred frame is not done'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-explain' -F
complete -c ackbox -n '__fish_seen_subcommand_from inbox-explain' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-explain' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-explain' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-explain' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-explain' -l source -d 'Its sender, by its agent URI, where several use the id' -x
complete -c ackbox -n __fish_use_subcommand -a export -d 'Write messages as JSON lines (proto/export.md), which enqueue reads back'
complete -c ackbox -n '__fish_seen_subcommand_from export' -F
complete -c ackbox -n '__fish_seen_subcommand_from export' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from export' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from export' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from export' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from export' -l state -d 'Only those in this state' -x -a 'pending sending sent acked failed'
complete -c ackbox -n '__fish_seen_subcommand_from export' -l peer -d 'Messages of this peer' -x
complete -c ackbox -n '__fish_seen_subcommand_from export' -l session -d 'Messages of this session' -x
complete -c ackbox -n '__fish_seen_subcommand_from export' -l type -d 'Messages of this type' -x
complete -c ackbox -n '__fish_seen_subcommand_from export' -l since -d 'Messages enqueued at this time or later: 2h ago, or an instant' -x
complete -c ackbox -n '__fish_seen_subcommand_from export' -l before -d 'Messages enqueued before this time' -x
complete -c ackbox -n __fish_use_subcommand -a enqueue -d 'Store frames from JSON lines: {"peer","session","type","data","id",…}; a line that is refused does not hinder the others'
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -F
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -l input -d 'The lines of messages (default -, standard input)' -rF
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -l peer -d 'The peer of lines that name none, or * for all subscribers (default "default")' -x
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -l session -d 'The session of lines that name none (default "default")' -x
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -l type -d 'The type of lines that name none' -x
complete -c ackbox -n '__fish_seen_subcommand_from enqueue' -l max-pending -d 'Refuse frames while this many messages are pending; 0: never (default 1000000)' -x
complete -c ackbox -n __fish_use_subcommand -a retry -d 'Send dead letters again: at the tails of their sessions, with new numbers and no charged attempts'
complete -c ackbox -n '__fish_seen_subcommand_from retry' -F
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l peer -d 'Dead letters of this peer' -x
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l session -d 'Dead letters of this session' -x
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l type -d 'Dead letters of this type' -x
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l reason -d 'Dead letters with exactly this reason' -x
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l error -d 'Dead letters whose last error contains this' -x
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l older-than -d 'Dead letters that failed at least so long ago' -x
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l all -d 'All dead letters'
complete -c ackbox -n '__fish_seen_subcommand_from retry' -l dry-run -d 'Only say how many the filter chooses'
complete -c ackbox -n __fish_use_subcommand -a resend -d 'Send acknowledged messages once more that the outbox has kept (acked_retention), at the ends of their sessions: under their ids, as to a receiver that has lost them, or as new messages. The receiver sees it'
complete -c ackbox -n '__fish_seen_subcommand_from resend' -F
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l peer -d 'Messages of this peer' -x
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l session -d 'Messages of this session' -x
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l type -d 'Messages of this type' -x
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l since -d 'Messages enqueued at this time or later: 2h ago, or an instant' -x
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l before -d 'Messages enqueued before this time' -x
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l to -d 'Store all that the outbox has for --peer for this peer, too' -x
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l new-ids -d 'As new messages, which take effect again at a receiver that remembers the ids; each once'
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l max-pending -d 'Refuse new messages while this many messages are pending; 0: never (default 1000000)' -x
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l all -d 'All acknowledged messages that were kept'
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l dry-run -d 'Only say how many the filter chooses'
complete -c ackbox -n '__fish_seen_subcommand_from resend' -l yes -d 'Really send all that the filter chooses'
complete -c ackbox -n __fish_use_subcommand -a discard -d 'Delete dead letters, for good'
complete -c ackbox -n '__fish_seen_subcommand_from discard' -F
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l peer -d 'Dead letters of this peer' -x
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l session -d 'Dead letters of this session' -x
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l type -d 'Dead letters of this type' -x
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l reason -d 'Dead letters with exactly this reason' -x
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l error -d 'Dead letters whose last error contains this' -x
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l older-than -d 'Dead letters that failed at least so long ago' -x
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l all -d 'All dead letters'
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l dry-run -d 'Only say how many the filter chooses'
complete -c ackbox -n '__fish_seen_subcommand_from discard' -l yes -d 'Really discard all that the filter chooses'
complete -c ackbox -n __fish_use_subcommand -a inbox-retry -d 'Run deferred frames again now, and set their charged runs back to 0'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -F
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -l source -d 'Frames of this sender, by its agent URI' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -l session -d 'Frames of this session' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -l mailbox -d 'Frames in the mailbox of this agent' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -l state -d 'Only those in this state' -x -a 'waiting unattended behind running backoff ended'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-retry' -l all -d 'All deferred frames'
complete -c ackbox -n __fish_use_subcommand -a inbox-discard -d 'Discard deferred frames, for good: their senders get a dead letter. Refused for a frame that is running'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -F
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l source -d 'Frames of this sender, by its agent URI' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l session -d 'Frames of this session' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l mailbox -d 'Frames in the mailbox of this agent' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l state -d 'Only those in this state' -x -a 'waiting unattended behind running backoff ended'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l all -d 'All deferred frames'
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l reason -d 'The reason that the sender gets, short and stable (default discarded)' -x
complete -c ackbox -n '__fish_seen_subcommand_from inbox-discard' -l yes -d 'Really discard all that the filter chooses'
complete -c ackbox -n __fish_use_subcommand -a mark-failed -d 'Make pending or sent messages dead letters'
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -F
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l peer -d 'Messages of this peer' -x
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l session -d 'Messages of this session' -x
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l type -d 'Messages of this type' -x
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l state -d 'Only those in this state' -x -a 'pending sent'
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l since -d 'Messages enqueued at this time or later: 2h ago, or an instant' -x
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l before -d 'Messages enqueued before this time' -x
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l all -d 'All messages that wait'
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l dry-run -d 'Only say how many the filter chooses'
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l yes -d 'Really make dead letters of all that the filter chooses'
complete -c ackbox -n '__fish_seen_subcommand_from mark-failed' -l reason -d 'Why, short and stable (default marked-failed)' -x
complete -c ackbox -n __fish_use_subcommand -a pause -d 'Stop sending to a peer, or one session of it, until resume'
complete -c ackbox -n '__fish_seen_subcommand_from pause' -F
complete -c ackbox -n '__fish_seen_subcommand_from pause' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from pause' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from pause' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from pause' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from pause' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from pause' -l session -d 'Only this session of the peer' -x
complete -c ackbox -n __fish_use_subcommand -a resume -d 'Go on sending to a peer or a session; a peer that is away is asked at once'
complete -c ackbox -n '__fish_seen_subcommand_from resume' -F
complete -c ackbox -n '__fish_seen_subcommand_from resume' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from resume' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from resume' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from resume' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from resume' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from resume' -l session -d 'Only this session of the peer' -x
complete -c ackbox -n __fish_use_subcommand -a unblock -d 'Let a session go on past the dead letter that stopped it'
complete -c ackbox -n '__fish_seen_subcommand_from unblock' -F
complete -c ackbox -n '__fish_seen_subcommand_from unblock' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from unblock' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from unblock' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from unblock' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from unblock' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n __fish_use_subcommand -a add-peer -d 'Add a peer to the outbox, or change one that was added, for running agents too'
complete -c ackbox -n '__fish_seen_subcommand_from add-peer' -F
complete -c ackbox -n '__fish_seen_subcommand_from add-peer' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from add-peer' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from add-peer' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from add-peer' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from add-peer' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n __fish_use_subcommand -a remove-peer -d 'Remove a peer that was added; refused while messages to it are not settled'
complete -c ackbox -n '__fish_seen_subcommand_from remove-peer' -F
complete -c ackbox -n '__fish_seen_subcommand_from remove-peer' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from remove-peer' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from remove-peer' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from remove-peer' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from remove-peer' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from remove-peer' -l fail-messages -d 'Make these messages dead letters'
complete -c ackbox -n __fish_use_subcommand -a vacuum -d 'Give the file'\''s free pages back to the file system, beside running agents'
complete -c ackbox -n '__fish_seen_subcommand_from vacuum' -F
complete -c ackbox -n '__fish_seen_subcommand_from vacuum' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from vacuum' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from vacuum' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from vacuum' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from vacuum' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n __fish_use_subcommand -a forget -d 'Delete the deduplication records of a sender, or of one of its stores. If it sends a message again, that message is applied again'
complete -c ackbox -n '__fish_seen_subcommand_from forget' -F
complete -c ackbox -n '__fish_seen_subcommand_from forget' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from forget' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from forget' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from forget' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from forget' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from forget' -l yes -d 'Really forget it'
complete -c ackbox -n __fish_use_subcommand -a repair -d 'Recount all figures and repair rows that were changed by SQL; then list what verify finds still. Of a database, only figures are mended'
complete -c ackbox -n '__fish_seen_subcommand_from repair' -F
complete -c ackbox -n '__fish_seen_subcommand_from repair' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from repair' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from repair' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from repair' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from repair' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from repair' -l dry-run -d 'Only say what would be mended'
complete -c ackbox -n __fish_use_subcommand -a subscribe -d 'Let a peer get what is published, or change such a subscription, for running agents too'
complete -c ackbox -n '__fish_seen_subcommand_from subscribe' -F
complete -c ackbox -n '__fish_seen_subcommand_from subscribe' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from subscribe' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from subscribe' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from subscribe' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from subscribe' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from subscribe' -l type -d 'Only frames of this type' -x
complete -c ackbox -n '__fish_seen_subcommand_from subscribe' -l session -d 'Only frames of this session; * at the end stands for any end' -x
complete -c ackbox -n __fish_use_subcommand -a unsubscribe -d 'End a subscription; messages that are stored stay'
complete -c ackbox -n '__fish_seen_subcommand_from unsubscribe' -F
complete -c ackbox -n '__fish_seen_subcommand_from unsubscribe' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from unsubscribe' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from unsubscribe' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from unsubscribe' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from unsubscribe' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n __fish_use_subcommand -a subscriptions -d 'List the subscriptions of peers to what is published'
complete -c ackbox -n '__fish_seen_subcommand_from subscriptions' -F
complete -c ackbox -n '__fish_seen_subcommand_from subscriptions' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from subscriptions' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from subscriptions' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from subscriptions' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n __fish_use_subcommand -a backup -d 'Copy the file as it is at one instant, beside running agents'
complete -c ackbox -n '__fish_seen_subcommand_from backup' -F
complete -c ackbox -n '__fish_seen_subcommand_from backup' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from backup' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from backup' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from backup' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from backup' -l overwrite -d 'Replace TO, in one step, when the copy is complete; a link stays, and what it leads to is replaced'
complete -c ackbox -n '__fish_seen_subcommand_from backup' -l no-verify -d 'Leave out the check of the copy'\''s invariants'
complete -c ackbox -n __fish_use_subcommand -a restore -d 'Put a backup in the place of TO, keep what is there beside it, and say what to do next. Refused while a process has either open. A database is restored by the server'\''s own tools; with its URL as FILE and as TO, and --identity new, its outbox then becomes a new store'
complete -c ackbox -n '__fish_seen_subcommand_from restore' -F
complete -c ackbox -n '__fish_seen_subcommand_from restore' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from restore' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from restore' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from restore' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from restore' -l identity -d 'Of an outbox that sends: new if it was sending after the backup was taken, keep if nothing was enqueued or sent since' -x -a 'new keep'
complete -c ackbox -n '__fish_seen_subcommand_from restore' -l dry-run -d 'Only say what would be done'
complete -c ackbox -n __fish_use_subcommand -a check -d 'Say in one line whether the outbox is well, with performance data, for Nagios, Icinga and the like. A threshold is reached at its value; off, or a CRITICAL that is left out, is never reached'
complete -c ackbox -n '__fish_seen_subcommand_from check' -F
complete -c ackbox -n '__fish_seen_subcommand_from check' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from check' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from check' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l oldest-age -d 'Age of the oldest pending message (default 10m,1h)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l pending -d 'Undelivered messages (default 100000,500000)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l pending-bytes -d 'Their data (default 1GiB,3GiB)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l failed -d 'Dead letters (default 1,off)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l peers-away -d 'Peers that are down, held or disabled (default 1,off)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l peers-stopped -d 'Those of them that are held or disabled, and wait for a person (default off,1)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l unserved -d 'Undelivered messages while no process has the outbox open (default 1,off)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l inbox -d 'Deferred frames that wait or run (default 10000,50000)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l inbox-age -d 'Age of the oldest of them (default 1h,1d)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l unattended-age -d 'For how long deferred frames, here or at a peer, have had no application (default 1m,1h)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l silent-age -d 'For how long an application has had deferred frames in hand and settled none, from 5m on (default 5m,off)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l free-disk -d 'Room on the file'\''s disk, wrong when it is less (default 1GiB,200MiB)' -x
complete -c ackbox -n '__fish_seen_subcommand_from check' -l log-size -d 'Size of the write-ahead log (default 256MiB,1GiB)' -x
complete -c ackbox -n __fish_use_subcommand -a doctor -d 'Look at the file, its log, permissions, owners, SQLite, clock and certificates, and say what to do'
complete -c ackbox -n '__fish_seen_subcommand_from doctor' -F
complete -c ackbox -n '__fish_seen_subcommand_from doctor' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from doctor' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from doctor' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from doctor' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from doctor' -l certificate -d 'Also say when this certificate (PEM) ends' -rF
complete -c ackbox -n __fish_use_subcommand -a migrate -d 'Bring the tables to this release'\''s version, after a copy of the file; no process may have it open. Of a database, no copy is made: pg_dump makes one; processes may have it open'
complete -c ackbox -n '__fish_seen_subcommand_from migrate' -F
complete -c ackbox -n '__fish_seen_subcommand_from migrate' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from migrate' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from migrate' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from migrate' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n '__fish_seen_subcommand_from migrate' -l log -d 'Print the log from this level on to standard error, as key=value, with --json as JSON lines' -x -a 'error warning info debug'
complete -c ackbox -n '__fish_seen_subcommand_from migrate' -l dry-run -d 'Only say what would be changed'
complete -c ackbox -n __fish_use_subcommand -a move -d 'Move the outbox to a PostgreSQL database that has none; no process may have the file open. Its peers notice nothing. The file stays, and is refused from then on. After an interruption, the same command goes on'
complete -c ackbox -n '__fish_seen_subcommand_from move' -F
complete -c ackbox -n '__fish_seen_subcommand_from move' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from move' -l json -d 'Print JSON, one object a line'
complete -c ackbox -n '__fish_seen_subcommand_from move' -l prefix -d 'The prefix of the outbox'\''s tables (default ackbox_)' -x
complete -c ackbox -n '__fish_seen_subcommand_from move' -l busy-timeout -d 'How long to wait for another process'\''s write (default 5s)' -x
complete -c ackbox -n __fish_use_subcommand -a completion -d 'Print a completion script for a shell'
complete -c ackbox -n '__fish_seen_subcommand_from completion' -l help -d 'Print this help'
complete -c ackbox -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c ackbox -n __fish_use_subcommand -a man -d 'Print the manual page, for man -l -'
complete -c ackbox -n '__fish_seen_subcommand_from man' -l help -d 'Print this help'
