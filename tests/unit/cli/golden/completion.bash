# bash completion for ackbox; made by `ackbox completion bash`
_ackbox() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W 'init serve health stats top peers sessions blocked list show explain verify senders inbox inbox-show inbox-explain export enqueue retry discard inbox-retry inbox-discard mark-failed pause resume unblock vacuum forget repair backup restore check doctor migrate completion man --version -h --help --json' -- "$current")
    return
  fi
  case "${COMP_WORDS[1]} $previous" in
    'init --folder') compopt -o default; return ;;
    'init --port') return ;;
    'serve --config') compopt -o default; return ;;
    'serve --listen') return ;;
    'serve --set') return ;;
    'health --url') return ;;
    'health --timeout') return ;;
    'stats --prefix') return ;;
    'stats --busy-timeout') return ;;
    'top --prefix') return ;;
    'top --busy-timeout') return ;;
    'top --interval') return ;;
    'top --count') return ;;
    'peers --prefix') return ;;
    'peers --busy-timeout') return ;;
    'sessions --prefix') return ;;
    'sessions --busy-timeout') return ;;
    'sessions --peer') return ;;
    'sessions --limit') return ;;
    'sessions --after') return ;;
    'blocked --prefix') return ;;
    'blocked --busy-timeout') return ;;
    'blocked --limit') return ;;
    'list --prefix') return ;;
    'list --busy-timeout') return ;;
    'list --state') words='pending sending sent acked failed' ;;
    'list --peer') return ;;
    'list --session') return ;;
    'list --type') return ;;
    'list --reason') return ;;
    'list --error') return ;;
    'list --limit') return ;;
    'list --after') return ;;
    'show --prefix') return ;;
    'show --busy-timeout') return ;;
    'explain --prefix') return ;;
    'explain --busy-timeout') return ;;
    'verify --prefix') return ;;
    'verify --busy-timeout') return ;;
    'senders --prefix') return ;;
    'senders --busy-timeout') return ;;
    'senders --limit') return ;;
    'inbox --prefix') return ;;
    'inbox --busy-timeout') return ;;
    'inbox --source') return ;;
    'inbox --session') return ;;
    'inbox --state') words='waiting unattended behind running backoff' ;;
    'inbox --limit') return ;;
    'inbox --after') return ;;
    'inbox-show --prefix') return ;;
    'inbox-show --busy-timeout') return ;;
    'inbox-show --source') return ;;
    'inbox-explain --prefix') return ;;
    'inbox-explain --busy-timeout') return ;;
    'inbox-explain --source') return ;;
    'export --prefix') return ;;
    'export --busy-timeout') return ;;
    'export --state') words='pending sending sent acked failed' ;;
    'export --peer') return ;;
    'export --session') return ;;
    'export --type') return ;;
    'enqueue --prefix') return ;;
    'enqueue --busy-timeout') return ;;
    'enqueue --log') words='error warning info debug' ;;
    'enqueue --input') compopt -o default; return ;;
    'enqueue --peer') return ;;
    'enqueue --session') return ;;
    'enqueue --type') return ;;
    'enqueue --max-pending') return ;;
    'retry --prefix') return ;;
    'retry --busy-timeout') return ;;
    'retry --log') words='error warning info debug' ;;
    'retry --peer') return ;;
    'retry --session') return ;;
    'retry --type') return ;;
    'retry --reason') return ;;
    'retry --error') return ;;
    'retry --older-than') return ;;
    'discard --prefix') return ;;
    'discard --busy-timeout') return ;;
    'discard --log') words='error warning info debug' ;;
    'discard --peer') return ;;
    'discard --session') return ;;
    'discard --type') return ;;
    'discard --reason') return ;;
    'discard --error') return ;;
    'discard --older-than') return ;;
    'inbox-retry --prefix') return ;;
    'inbox-retry --busy-timeout') return ;;
    'inbox-retry --log') words='error warning info debug' ;;
    'inbox-retry --source') return ;;
    'inbox-retry --session') return ;;
    'inbox-retry --state') words='waiting unattended behind running backoff' ;;
    'inbox-discard --prefix') return ;;
    'inbox-discard --busy-timeout') return ;;
    'inbox-discard --log') words='error warning info debug' ;;
    'inbox-discard --source') return ;;
    'inbox-discard --session') return ;;
    'inbox-discard --state') words='waiting unattended behind running backoff' ;;
    'inbox-discard --reason') return ;;
    'mark-failed --prefix') return ;;
    'mark-failed --busy-timeout') return ;;
    'mark-failed --log') words='error warning info debug' ;;
    'mark-failed --reason') return ;;
    'pause --prefix') return ;;
    'pause --busy-timeout') return ;;
    'pause --log') words='error warning info debug' ;;
    'pause --session') return ;;
    'resume --prefix') return ;;
    'resume --busy-timeout') return ;;
    'resume --log') words='error warning info debug' ;;
    'resume --session') return ;;
    'unblock --prefix') return ;;
    'unblock --busy-timeout') return ;;
    'unblock --log') words='error warning info debug' ;;
    'vacuum --prefix') return ;;
    'vacuum --busy-timeout') return ;;
    'vacuum --log') words='error warning info debug' ;;
    'forget --prefix') return ;;
    'forget --busy-timeout') return ;;
    'forget --log') words='error warning info debug' ;;
    'repair --prefix') return ;;
    'repair --busy-timeout') return ;;
    'repair --log') words='error warning info debug' ;;
    'backup --prefix') return ;;
    'backup --busy-timeout') return ;;
    'restore --prefix') return ;;
    'restore --busy-timeout') return ;;
    'restore --identity') words='new keep' ;;
    'check --prefix') return ;;
    'check --busy-timeout') return ;;
    'check --oldest-age') return ;;
    'check --pending') return ;;
    'check --pending-bytes') return ;;
    'check --failed') return ;;
    'check --peers-away') return ;;
    'check --peers-stopped') return ;;
    'check --unserved') return ;;
    'check --inbox') return ;;
    'check --inbox-age') return ;;
    'check --unattended-age') return ;;
    'check --silent-age') return ;;
    'check --free-disk') return ;;
    'check --log-size') return ;;
    'doctor --prefix') return ;;
    'doctor --busy-timeout') return ;;
    'doctor --certificate') compopt -o default; return ;;
    'migrate --prefix') return ;;
    'migrate --busy-timeout') return ;;
    'migrate --log') words='error warning info debug' ;;
  esac
  if [[ -z $words ]]; then
    case "${COMP_WORDS[1]}" in
      init) words='-h --help --folder --port --json' ;;
      serve) words='-h --help --config --listen --set --check-config --fields' ;;
      health) words='-h --help --url --json --timeout' ;;
      stats) words='-h --help --json --prefix --busy-timeout' ;;
      top) words='-h --help --json --prefix --busy-timeout --interval --count' ;;
      peers) words='-h --help --json --prefix --busy-timeout' ;;
      sessions) words='-h --help --json --prefix --busy-timeout --peer --all --limit --after' ;;
      blocked) words='-h --help --json --prefix --busy-timeout --limit' ;;
      list) words='-h --help --json --prefix --busy-timeout --state --peer --session --type --reason --error --limit --after' ;;
      show) words='-h --help --json --prefix --busy-timeout' ;;
      explain) words='-h --help --json --prefix --busy-timeout' ;;
      verify) words='-h --help --json --prefix --busy-timeout' ;;
      senders) words='-h --help --json --prefix --busy-timeout --limit' ;;
      inbox) words='-h --help --json --prefix --busy-timeout --source --session --state --limit --after' ;;
      inbox-show) words='-h --help --json --prefix --busy-timeout --source' ;;
      inbox-explain) words='-h --help --json --prefix --busy-timeout --source' ;;
      export) words='-h --help --json --prefix --busy-timeout --state --peer --session --type' ;;
      enqueue) words='-h --help --json --prefix --busy-timeout --log --input --peer --session --type --max-pending' ;;
      retry) words='-h --help --json --prefix --busy-timeout --log --peer --session --type --reason --error --older-than --all --dry-run' ;;
      discard) words='-h --help --json --prefix --busy-timeout --log --peer --session --type --reason --error --older-than --all --dry-run --yes' ;;
      inbox-retry) words='-h --help --json --prefix --busy-timeout --log --source --session --state --all' ;;
      inbox-discard) words='-h --help --json --prefix --busy-timeout --log --source --session --state --all --reason --yes' ;;
      mark-failed) words='-h --help --json --prefix --busy-timeout --log --reason' ;;
      pause) words='-h --help --json --prefix --busy-timeout --log --session' ;;
      resume) words='-h --help --json --prefix --busy-timeout --log --session' ;;
      unblock) words='-h --help --json --prefix --busy-timeout --log' ;;
      vacuum) words='-h --help --json --prefix --busy-timeout --log' ;;
      forget) words='-h --help --json --prefix --busy-timeout --log --yes' ;;
      repair) words='-h --help --json --prefix --busy-timeout --log --dry-run' ;;
      backup) words='-h --help --json --prefix --busy-timeout --overwrite --no-verify' ;;
      restore) words='-h --help --json --prefix --busy-timeout --identity --dry-run' ;;
      check) words='-h --help --json --prefix --busy-timeout --oldest-age --pending --pending-bytes --failed --peers-away --peers-stopped --unserved --inbox --inbox-age --unattended-age --silent-age --free-disk --log-size' ;;
      doctor) words='-h --help --json --prefix --busy-timeout --certificate' ;;
      migrate) words='-h --help --json --prefix --busy-timeout --log --dry-run' ;;
      completion) words='-h --help bash zsh fish' ;;
      man) words='-h --help' ;;
    esac
    [[ $current == -* ]] || compopt -o default 2>/dev/null
  fi
  if [[ $current == -* || " completion " == *" ${COMP_WORDS[1]} "* || $previous == --* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}
complete -F _ackbox ackbox
