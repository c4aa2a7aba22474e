/**
 * The shell script that runs on a machine of the provider `ssh`, for POSIX shells.
 *
 * A machine carries one node of a user. The file `claim` says whose: a hard link makes it, so of two clusters one gets the machine. Beside it are
 * `pid`, with the time at which the process began, `setup` for a command under way, and the output of `shoal start`. The token arrives by the standard input, in a file of
 * mode 0600 that is removed once the node has joined. Nothing here depends on the autoscaler's memory.
 */

/** Exit codes of the script, apart from those of shells and of ssh (255). */
export const MACHINE_TAKEN = 73;
const NODE_NOT_STARTED = 74;

/** Operations: `look`, `claim CLAIM`, `setup CLAIM COMMAND`, `start CLAIM SECONDS COMMAND...` and `stop CLAIM SECONDS`. */
export const MACHINE_SCRIPT = `set -u
umask 077
folder="\${XDG_STATE_HOME:-$HOME/.local/state}/shoal/machine"
born() {
  if [ -r "/proc/$1/stat" ]; then
    set -- $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null)
    if [ "\${1:-Z}" != Z ]; then echo "\${20:-}"; fi
  else ps -o lstart= -p "$1" 2>/dev/null; fi
}
runs() {
  [ -s "$folder/$1" ] && read -r pid when <"$folder/$1" && [ -n "$when" ] && [ "$(born "$pid")" = "$when" ]
}
alive() { runs pid; }
note() { printf '%s %s\\n' "$pid" "$(born "$pid")" >"$folder/$1.new" && mv "$folder/$1.new" "$folder/$1"; }
end() { kill -KILL "-$pid" 2>/dev/null || kill -KILL "$pid"; }
if command -v setsid >/dev/null 2>&1; then apart=setsid; else apart=nohup; fi
claimed() { cat "$folder/claim" 2>/dev/null; }
take() {
  mkdir -p "$folder" && printf '%s\\n' "$1" >"$folder/claim.$$" || return 1
  ln "$folder/claim.$$" "$folder/claim" 2>/dev/null
  rm -f "$folder/claim.$$"
  [ "$(claimed)" = "$1" ]
}
operation=$1
shift
case $operation in
look)
  claimed || echo free
  if alive; then echo alive; elif [ -s "$folder/pid" ]; then echo dead; tail -c 700 "$folder/err" 2>/dev/null; else echo begun; fi
  ;;
claim)
  if ! take "$1"; then
    if [ -s "$folder/pid" ] && ! alive; then rm -rf "$folder"; take "$1"; fi
    if [ "$(claimed)" != "$1" ]; then claimed; exit ${MACHINE_TAKEN}; fi
  fi
  ;;
setup)
  if [ "$(claimed)" != "$1" ]; then claimed; exit ${MACHINE_TAKEN}; fi
  $apart bash -lc "$2" </dev/null &
  pid=$!
  note setup
  wait "$pid"
  code=$?
  rm -f "$folder/setup"
  exit $code
  ;;
start)
  claim=$1
  seconds=$2
  shift 2
  if [ "$(claimed)" != "$claim" ]; then claimed; exit ${MACHINE_TAKEN}; fi
  if alive; then exit 0; fi
  cat >"$folder/token"
  rm -f "$folder/pid" "$folder/out" "$folder/err"
  $apart bash -lc 'exec "$@"' shoal "$@" --token-file "$folder/token" >"$folder/out" 2>"$folder/err" </dev/null &
  pid=$!
  note pid
  looks=$((seconds * 5))
  while alive && ! [ -s "$folder/out" ] && [ $looks -gt 0 ]; do sleep 0.2; looks=$((looks - 1)); done
  rm -f "$folder/token"
  if alive && [ -s "$folder/out" ]; then exit 0; fi
  tail -c 700 "$folder/err" >&2
  exit ${NODE_NOT_STARTED}
  ;;
stop)
  if [ "$(claimed)" != "$1" ]; then exit 0; fi
  looks=$(($2 * 5))
  if runs setup; then end; fi
  if alive; then kill -TERM "$pid"; fi
  while alive && [ $looks -gt 0 ]; do sleep 0.2; looks=$((looks - 1)); done
  if alive; then end; fi
  rm -rf "$folder"
  ;;
esac
`;
