#compdef ackbox
# zsh completion for ackbox; made by `ackbox completion zsh`
_ackbox() {
  local -a commands=(
    'init:Make a configuration, tokens and keys for agents on this machine, and print the commands that start them'
    'serve:Deliver the outbox'\''s messages, and serve it over HTTP to programs of any language, until SIGTERM'
    'health:Ask a running serve whether it is ready\: exit status 0 if it is, 1 if it is not or does not answer'
    'stats:Show gauges and totals'
    'top:Show figures, rates, peers and sessions, again and again'
    'peers:List the peers\: whether each is up, down, held, disabled or paused, since when, and why'
    'sessions:List sessions with work, and where each stands'
    'blocked:List sessions that a dead letter stopped, and what waits behind it'
    'list:List messages, in the order of their enqueues, or the newest first'
    'show:Show a message with its data'
    'explain:Say why a message is not moving'
    'verify:Check every invariant of the outbox'
    'senders:List the senders of received frames and the records kept for each, or the stores of one sender'
    'inbox:List deferred frames\: those received, stored and not done yet, such as all that serve gives to applications'
    'inbox-show:Show a deferred frame with its data and its last error'
    'inbox-explain:Say why a deferred frame is not done'
    'export:Write messages as JSON lines (proto/export.md), which enqueue reads back'
    'enqueue:Store frames from JSON lines\: {"peer","session","type","data","id",…}; a line that is refused does not hinder the others'
    'retry:Send dead letters again\: at the tails of their sessions, with new numbers and no charged attempts'
    'resend:Send acknowledged messages once more that the outbox has kept (acked_retention), at the ends of their sessions\: under their ids, as to a receiver that has lost them, or as new messages. The receiver sees it'
    'discard:Delete dead letters, for good'
    'inbox-retry:Run deferred frames again now, and set their charged runs back to 0'
    'inbox-discard:Discard deferred frames, for good\: their senders get a dead letter. Refused for a frame that is running'
    'mark-failed:Make pending or sent messages dead letters'
    'pause:Stop sending to a peer, or one session of it, until resume'
    'resume:Go on sending to a peer or a session; a peer that is away is asked at once'
    'unblock:Let a session go on past the dead letter that stopped it'
    'add-peer:Add a peer to the outbox, or change one that was added, for running agents too'
    'remove-peer:Remove a peer that was added; refused while messages to it are not settled'
    'vacuum:Give the file'\''s free pages back to the file system, beside running agents'
    'forget:Delete the deduplication records of a sender, or of one of its stores. If it sends a message again, that message is applied again'
    'repair:Recount all figures and repair rows that were changed by SQL; then list what verify finds still. Of a database, only figures are mended'
    'subscribe:Let a peer get what is published, or change such a subscription, for running agents too'
    'unsubscribe:End a subscription; messages that are stored stay'
    'subscriptions:List the subscriptions of peers to what is published'
    'backup:Copy the file as it is at one instant, beside running agents'
    'restore:Put a backup in the place of TO, keep what is there beside it, and say what to do next. Refused while a process has either open. A database is restored by the server'\''s own tools; with its URL as FILE and as TO, and --identity new, its outbox then becomes a new store'
    'check:Say in one line whether the outbox is well, with performance data, for Nagios, Icinga and the like. A threshold is reached at its value; off, or a CRITICAL that is left out, is never reached'
    'doctor:Look at the file, its log, permissions, owners, SQLite, clock and certificates, and say what to do'
    'migrate:Bring the tables to this release'\''s version, after a copy of the file; no process may have it open. Of a database, no copy is made\: pg_dump makes one; processes may have it open'
    'move:Move the outbox to a PostgreSQL database that has none; no process may have the file open. Its peers notice nothing. The file stays, and is refused from then on. After an interruption, the same command goes on'
    'completion:Print a completion script for a shell'
    'man:Print the manual page, for man -l -'
  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    init)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        '*:NAME:' \
        '--folder[Where the files are made (default\: the current folder)]:PATH:_files' \
        '--port[The first agent'\''s port; its inbox has this port plus 10 (default 7070)]:PORT:' \
        '--json[Print the files, one JSON object a line]' ;;
    serve)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--config[A configuration file; --fields lists what may be in it]:PATH:_files' \
        '--listen[unix\:PATH, or an address and a port (default 127.0.0.1\:7070)]:ADDRESS:' \
        '--set[Any field of the configuration\: outbox.max_pending=5000]:FIELD=VALUE:' \
        '--check-config[Only check the configuration, and say what is wrong with it]' \
        '--fields[Only list the fields of a configuration, with type, default, range and meaning]' ;;
    health)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        '--url[http\://address\:port or unix\:PATH (default http\://127.0.0.1\:7070)]:URL:' \
        '--json[Print JSON, one object a line]' \
        '--timeout[For the whole answer, the connection included (default 3s)]:DURATION:' ;;
    stats)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' ;;
    top)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--interval[The time between two looks (default 2s)]:DURATION:' \
        '--count[End after this many looks; 0\: never (default; 1 without a terminal)]:COUNT:' ;;
    peers)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' ;;
    sessions)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--peer[Sessions of this peer]:NAME:' \
        '--all[Also sessions without live messages and dead letters]' \
        '--limit[At most this many; 0\: all (default 100)]:COUNT:' \
        '--after[Continue after this row]:ROW:' ;;
    blocked)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--limit[At most this many; 0\: the most possible, 10000 (default 100)]:COUNT:' ;;
    list)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--state[Only those in this state]:STATE:(pending sending sent acked failed)' \
        '--peer[Messages of this peer]:NAME:' \
        '--session[Messages of this session]:NAME:' \
        '--type[Messages of this type]:TYPE:' \
        '--reason[Dead letters with exactly this reason]:TEXT:' \
        '--error[Dead letters whose last error contains this]:TEXT:' \
        '--since[Messages enqueued at this time or later\: 2h ago, or an instant]:TIME:' \
        '--before[Messages enqueued before this time]:TIME:' \
        '--newest[The newest messages first]' \
        '--limit[At most this many; 0\: all (default 100)]:COUNT:' \
        '--after[Continue after this row]:ROW:' ;;
    show)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        ':ID:' ;;
    explain)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        ':ID:' ;;
    verify)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' ;;
    senders)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        ':SOURCE:' \
        '--limit[At most this many; 0\: the most possible, 10000 (default 100)]:COUNT:' ;;
    inbox)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--source[Frames of this sender, by its agent URI]:URI:' \
        '--session[Frames of this session]:NAME:' \
        '--mailbox[Frames in the mailbox of this agent]:URI:' \
        '--state[Only those in this state]:STATE:(waiting unattended behind running backoff ended)' \
        '--limit[At most this many; 0\: all (default 100)]:COUNT:' \
        '--after[Continue after this row]:ROW:' ;;
    inbox-show)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        ':ID:' \
        '--source[Its sender, by its agent URI, where several use the id]:URI:' ;;
    inbox-explain)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        ':ID:' \
        '--source[Its sender, by its agent URI, where several use the id]:URI:' ;;
    export)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--state[Only those in this state]:STATE:(pending sending sent acked failed)' \
        '--peer[Messages of this peer]:NAME:' \
        '--session[Messages of this session]:NAME:' \
        '--type[Messages of this type]:TYPE:' \
        '--since[Messages enqueued at this time or later\: 2h ago, or an instant]:TIME:' \
        '--before[Messages enqueued before this time]:TIME:' ;;
    enqueue)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        '--input[The lines of messages (default -, standard input)]:PATH:_files' \
        '--peer[The peer of lines that name none, or * for all subscribers (default "default")]:NAME:' \
        '--session[The session of lines that name none (default "default")]:NAME:' \
        '--type[The type of lines that name none]:TYPE:' \
        '--max-pending[Refuse frames while this many messages are pending; 0\: never (default 1000000)]:COUNT:' ;;
    retry)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        '*:ID:' \
        '--peer[Dead letters of this peer]:NAME:' \
        '--session[Dead letters of this session]:NAME:' \
        '--type[Dead letters of this type]:TYPE:' \
        '--reason[Dead letters with exactly this reason]:TEXT:' \
        '--error[Dead letters whose last error contains this]:TEXT:' \
        '--older-than[Dead letters that failed at least so long ago]:DURATION:' \
        '--all[All dead letters]' \
        '--dry-run[Only say how many the filter chooses]' ;;
    resend)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        '*:ID:' \
        '--peer[Messages of this peer]:NAME:' \
        '--session[Messages of this session]:NAME:' \
        '--type[Messages of this type]:TYPE:' \
        '--since[Messages enqueued at this time or later\: 2h ago, or an instant]:TIME:' \
        '--before[Messages enqueued before this time]:TIME:' \
        '--to[Store all that the outbox has for --peer for this peer, too]:PEER:' \
        '--new-ids[As new messages, which take effect again at a receiver that remembers the ids; each once]' \
        '--max-pending[Refuse new messages while this many messages are pending; 0\: never (default 1000000)]:COUNT:' \
        '--all[All acknowledged messages that were kept]' \
        '--dry-run[Only say how many the filter chooses]' \
        '--yes[Really send all that the filter chooses]' ;;
    discard)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        '*:ID:' \
        '--peer[Dead letters of this peer]:NAME:' \
        '--session[Dead letters of this session]:NAME:' \
        '--type[Dead letters of this type]:TYPE:' \
        '--reason[Dead letters with exactly this reason]:TEXT:' \
        '--error[Dead letters whose last error contains this]:TEXT:' \
        '--older-than[Dead letters that failed at least so long ago]:DURATION:' \
        '--all[All dead letters]' \
        '--dry-run[Only say how many the filter chooses]' \
        '--yes[Really discard all that the filter chooses]' ;;
    inbox-retry)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        '*:ID:' \
        '--source[Frames of this sender, by its agent URI]:URI:' \
        '--session[Frames of this session]:NAME:' \
        '--mailbox[Frames in the mailbox of this agent]:URI:' \
        '--state[Only those in this state]:STATE:(waiting unattended behind running backoff ended)' \
        '--all[All deferred frames]' ;;
    inbox-discard)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        '*:ID:' \
        '--source[Frames of this sender, by its agent URI]:URI:' \
        '--session[Frames of this session]:NAME:' \
        '--mailbox[Frames in the mailbox of this agent]:URI:' \
        '--state[Only those in this state]:STATE:(waiting unattended behind running backoff ended)' \
        '--all[All deferred frames]' \
        '--reason[The reason that the sender gets, short and stable (default discarded)]:TEXT:' \
        '--yes[Really discard all that the filter chooses]' ;;
    mark-failed)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        '*:ID:' \
        '--peer[Messages of this peer]:NAME:' \
        '--session[Messages of this session]:NAME:' \
        '--type[Messages of this type]:TYPE:' \
        '--state[Only those in this state]:STATE:(pending sent)' \
        '--since[Messages enqueued at this time or later\: 2h ago, or an instant]:TIME:' \
        '--before[Messages enqueued before this time]:TIME:' \
        '--all[All messages that wait]' \
        '--dry-run[Only say how many the filter chooses]' \
        '--yes[Really make dead letters of all that the filter chooses]' \
        '--reason[Why, short and stable (default marked-failed)]:TEXT:' ;;
    pause)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        ':PEER:' \
        '--session[Only this session of the peer]:NAME:' ;;
    resume)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        ':PEER:' \
        '--session[Only this session of the peer]:NAME:' ;;
    unblock)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        ':PEER:' \
        ':SESSION:' ;;
    add-peer)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        ':PEER:' \
        ':DEFINITION:' ;;
    remove-peer)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        ':PEER:' \
        '--fail-messages[Make these messages dead letters]' ;;
    vacuum)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' ;;
    forget)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        ':SOURCE:' \
        ':ORIGIN:' \
        '--yes[Really forget it]' ;;
    repair)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        '--dry-run[Only say what would be mended]' ;;
    subscribe)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        ':SUBSCRIPTION:' \
        ':PEER:' \
        '--type[Only frames of this type]:TYPE:' \
        '--session[Only frames of this session; * at the end stands for any end]:NAME:' ;;
    unsubscribe)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        ':SUBSCRIPTION:' ;;
    subscriptions)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' ;;
    backup)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        ':TO:' \
        '--overwrite[Replace TO, in one step, when the copy is complete; a link stays, and what it leads to is replaced]' \
        '--no-verify[Leave out the check of the copy'\''s invariants]' ;;
    restore)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        ':TO:' \
        '--identity[Of an outbox that sends\: new if it was sending after the backup was taken, keep if nothing was enqueued or sent since]:WHICH:(new keep)' \
        '--dry-run[Only say what would be done]' ;;
    check)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--oldest-age[Age of the oldest pending message (default 10m,1h)]:WARNING,CRITICAL:' \
        '--pending[Undelivered messages (default 100000,500000)]:WARNING,CRITICAL:' \
        '--pending-bytes[Their data (default 1GiB,3GiB)]:WARNING,CRITICAL:' \
        '--failed[Dead letters (default 1,off)]:WARNING,CRITICAL:' \
        '--peers-away[Peers that are down, held or disabled (default 1,off)]:WARNING,CRITICAL:' \
        '--peers-stopped[Those of them that are held or disabled, and wait for a person (default off,1)]:WARNING,CRITICAL:' \
        '--unserved[Undelivered messages while no process has the outbox open (default 1,off)]:WARNING,CRITICAL:' \
        '--inbox[Deferred frames that wait or run (default 10000,50000)]:WARNING,CRITICAL:' \
        '--inbox-age[Age of the oldest of them (default 1h,1d)]:WARNING,CRITICAL:' \
        '--unattended-age[For how long deferred frames, here or at a peer, have had no application (default 1m,1h)]:WARNING,CRITICAL:' \
        '--silent-age[For how long an application has had deferred frames in hand and settled none, from 5m on (default 5m,off)]:WARNING,CRITICAL:' \
        '--free-disk[Room on the file'\''s disk, wrong when it is less (default 1GiB,200MiB)]:WARNING,CRITICAL:' \
        '--log-size[Size of the write-ahead log (default 256MiB,1GiB)]:WARNING,CRITICAL:' ;;
    doctor)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--certificate[Also say when this certificate (PEM) ends]:PATH:_files' ;;
    migrate)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        '--log[Print the log from this level on to standard error, as key=value, with --json as JSON lines]:LEVEL:(error warning info debug)' \
        '--dry-run[Only say what would be changed]' ;;
    move)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':FILE:_files' \
        '--json[Print JSON, one object a line]' \
        '--prefix[The prefix of the outbox'\''s tables (default ackbox_)]:TEXT:' \
        '--busy-timeout[How long to wait for another process'\''s write (default 5s)]:DURATION:' \
        ':URL:' ;;
    completion)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' \
        ':SHELL:(bash zsh fish)' ;;
    man)
      _arguments \
        '-h[Print this help]' \
        '--help[Print this help]' ;;
  esac
}
_ackbox "$@"
