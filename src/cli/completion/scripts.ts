import type { CompletionPoint, Entry, Flag } from "./places.js";

/** Scripts for shells, which hold the whole list: no program is started while a user types. */
export const scripts: Readonly<Record<string, (places: readonly CompletionPoint[]) => string>> = { bash, zsh, fish };

/** A flag with a value leaves the word after it to the completion of file names. */
function bash(places: readonly CompletionPoint[]): string {
  const words = ({ path, words, flags }: CompletionPoint): string =>
    `    ${quoted(path)}) words=${quoted([...words, ...flags].map(({ name }) => name).join(" "))} ;;`;
  return `
_stoa() {
  local place="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place \${COMP_WORDS[i]}" in
      ${paths(places)}) place="$place \${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "\${COMP_WORDS[COMP_CWORD-1]}" in
    ${valued(places).join("|")}) return ;;
  esac
  case "$place" in
${places.map(words).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _stoa stoa`;
}

function zsh(places: readonly CompletionPoint[]): string {
  const entry = ({ name, help }: Entry): string => `      ${quoted(`${name}:${help}`)}`;
  const entries = ({ path, words, flags }: CompletionPoint): string =>
    `    ${quoted(path)}) entries=(\n${[...words, ...flags].map(entry).join("\n")}\n    ) ;;`;
  return `
#compdef stoa
_stoa() {
  local place="" word
  local -a entries
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place $word" in
      ${paths(places)}) place="$place $word" ;;
    esac
  done
  case "\${words[CURRENT-1]}" in
    ${valued(places).join("|")}) _files; return ;;
  esac
  case "$place" in
${places.map(entries).join("\n")}
  esac
  _describe stoa entries
}
# Found in a folder of $fpath, or sourced.
if [[ "\${funcstack[1]}" == _stoa ]]; then _stoa "$@"; else compdef _stoa stoa; fi`;
}

function fish(places: readonly CompletionPoint[]): string {
  const line = (path: string, rest: string, help: string): string =>
    `complete -c stoa -n "__stoa_at '${path}'" ${rest} -d ${fishQuoted(help)}`;
  const values = { none: "", path: " -r -F", text: " -x" };
  const lines = places.flatMap(({ path, words, flags }) => [
    ...words.map(({ name, help }) => line(path, `-a ${name}`, help)),
    ...flags.map(({ name, short, help, value }) =>
      line(path, `${short === undefined ? "" : `-s ${short} `}-l ${name.slice(2)}${values[value]}`, help),
    ),
  ]);
  return `
function __stoa_at
  set -l place ""
  for word in (commandline -opc)[2..]
    switch "$place $word"
      case ${paths(places, " ")}
        set place "$place $word"
    end
  end
  test "$place" = "$argv[1]"
end
complete -c stoa -f
${lines.join("\n")}`;
}

function paths(places: readonly CompletionPoint[], between = "|"): string {
  return places
    .filter(({ path }) => path !== "")
    .map(({ path }) => quoted(path))
    .join(between);
}

/** Flags with a value. */
function valued(places: readonly CompletionPoint[]): string[] {
  const isValued = ({ value }: Flag): boolean => value !== "none";
  return [...new Set(places.flatMap(({ flags }) => flags.filter(isValued).map(({ name }) => name)))];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
