/**
 * Regular expressions that check-expressions.mjs finds slow, or cannot decide, and that may stay. Each has its reason:
 * the text that it reads is short, or cannot hold what makes it slow, or is written by the application's own developers.
 *
 * @type {readonly { file: string, expression: string, reason: string }[]}
 */
export const exceptions = [
  ...of("the paths, patterns and names that the application itself is made of", [
    ["batteries/cache/excluded-paths.ts", "/(?<=.)\\/+$/"],
    [
      "batteries/trusted-hosts/trusted-hosts.ts",
      "/^(?:loopback|private|linklocal|[\\d.]+(?:\\/\\d+)?|\\[?[0-9a-f:.]*:[0-9a-f:.]*\\]?(?:\\/\\d+)?)$/",
    ],
    ["engines/messaging/topic.ts", 'new RegExp(given.source, given.flags.replaceAll(/[gy]/g, ""))'],
    ["batteries/live/request-log.ts", "/\\{([^}:]+)(?::\\*)?\\}/g"],
    ["batteries/openapi/paths.ts", "/\\{[^}]*\\}/g"],
    ["batteries/openapi/schema-components.ts", "/^(.*?)(\\d*)$/"],
    [
      "orm/expressions/expression.ts",
      "/^(?:rows|range|groups)\\s+(?:between\\s+)?(?:unbounded|current|\\d+)\\s+(?:preceding|following|row)(?:\\s+and\\s+(?:unbounded|current|\\d+)\\s+(?:preceding|following|row))?(?:\\s+exclude\\s+(?:current row|group|ties|no others))?$/i",
    ],
  ]),
  ...of("names, types and statements of a schema, which its developers write, in the command line's process", [
    ["cli/migrate/migration-files.ts", "/^_+|_+$/g"],
    ["introspection/write/write-models.ts", "/(\\[\\])+$/"],
    ["migrations/files/migration-name.ts", "/_+$/"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    ["migrations/files/sql-text.ts", 'new RegExp(`::\\\\s*(?:${spellings.join("|")})(?![\\\\w$".])`, "g")'],
  ]),
  ...of("the message or the stack of an error that ends the process, before any client is served", [
    ["cli/failure.ts", "/\\s*[\\r\\n]+\\s*/g"],
    ["cli/failure.ts", "/\\b([a-z][a-z0-9+.-]*:\\/\\/)[^\\s/@'\"]*@/gi"],
    ["server/start-error.ts", "/\\s*[\\r\\n]+\\s*/g"],
  ]),
  ...of("a request target, which has no line feed: `.*` reaches its end at the first attempt", []),
  ...of("the lookbehind lets a match begin at the first character of a run only: linear", [
    ["orm/model/build-meta.ts", "/(?<!_)_+$/"],
    ["orm/schema/names.ts", "/(?<!_)_+$/"],
    ["engines/db/values/encode.ts", "/(?<!\\\\)(?:\\\\\\\\)*\\\\u(0000|d[89a-f])/"],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    ["orm/body/checks/numbers.ts", 'new RegExp(`^${space}|(?<!${space.slice(0, -1)})${space}$`, "g")'],
  ]),
  ...of("at most 63 bytes", [["orm/identifiers.ts", "/\\uFFFD+$/"]]),
  ...of("a number with six decimal places", [["orm/body/checks/interval.ts", "/\\.?0+$/"]]),
  ...of("a message of the server that holds no value", [
    ["engines/db/translate-error.ts", "/supplies (\\d+) parameters.* requires (\\d+)/"],
  ]),
  ...of("a text that another expression has accepted: every number in it has its unit", [
    ["orm/body/checks/interval.ts", "/T|(-?\\d+(?:[.,]\\d*)?)([YMWDHS])/g"],
  ]),
];

function of(reason, list) {
  return list.map(([file, expression]) => ({ file, expression, reason }));
}
