# bash completion for homeostat. To load it now: source <(homeostat completion bash)
#include completion.expand
_homeostat() {
  local current=${COMP_WORDS[COMP_CWORD]} word kind line expanded
  local -a words=() reply=()
  # Readline has taken --option=value apart.
  [ "$current" != = ] || current=
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [ "$word" != = ] || continue
    _homeostat_expand "$word"
    words+=("$expanded")
  done
  COMPREPLY=()
  mapfile -t reply < <("${COMP_WORDS[0]}" complete -- "${words[@]}" "$current" 2>/dev/null)
  kind=${reply[0]-}
  case $kind in
    :files | :directories)
      compopt -o filenames 2>/dev/null
      local flag=-f
      [ "$kind" = :files ] || flag=-d
      mapfile -t COMPREPLY < <(compgen "$flag" -- "$current")
      ;;
    :words)
      for line in "${reply[@]:1}"; do
        COMPREPLY+=("${line%%$'\t'*}")
      done
      ;;
  esac
}
complete -F _homeostat homeostat
