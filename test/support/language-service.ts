import { resolve } from "node:path";
import ts from "typescript";

const root = resolve(import.meta.dirname, "../..");

/** Names that an editor suggests at the mark `|` in a piece of code, and the text it shows for a name. */
export interface Editor {
  completions(code: string): string[];
  hover(code: string): string;
  /** The comment that it shows for a name. */
  comment(code: string): string;
  errors(code: string): string[];
  /** The same at all marks of a longer piece of code. It is read once: each change costs the editor about a second. */
  eachCompletions(code: string): string[][];
  eachComment(code: string): string[];
}

/** An editor on a file of this folder. `imports` stands above each piece of code. */
export function openEditor(imports: string): Editor {
  const file = resolve(root, "test/orm/in-the-editor.ts");
  const { config } = ts.readConfigFile(resolve(root, "tsconfig.json"), ts.sys.readFile) as { config: object };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  let text = "";
  let version = 0;
  const service = ts.createLanguageService({
    getCompilationSettings: () => ({ ...options, noUnusedLocals: false }),
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => [file],
    getScriptVersion: (path) => (path === file ? String(version) : "0"),
    getScriptSnapshot: (path) => {
      const content = path === file ? text : ts.sys.readFile(path);
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
    },
    fileExists: (path) => path === file || ts.sys.fileExists(path),
    readFile: (path) => (path === file ? text : ts.sys.readFile(path)),
  });
  const open = (code: string): number => {
    const before = `${imports}\n`;
    text = before + code.replace("|", "");
    version++;
    return before.length + code.indexOf("|");
  };
  const each = <T>(code: string, ask: (position: number) => T): T[] => {
    const pieces = code.split("|");
    let position = open(`|${pieces.join("")}`);
    return pieces.slice(0, -1).map((piece) => ask((position += piece.length)));
  };
  const completionsAt = (position: number): string[] => {
    const found = service.getCompletionsAtPosition(file, position, {});
    return (found?.entries ?? []).map((entry) => entry.name);
  };
  const commentAt = (position: number): string =>
    ts.displayPartsToString(service.getQuickInfoAtPosition(file, position)?.documentation);
  return {
    completions: (code) => completionsAt(open(code)),
    comment: (code) => commentAt(open(code)),
    eachCompletions: (code) => each(code, completionsAt),
    eachComment: (code) => each(code, commentAt),
    hover(code) {
      const info = service.getQuickInfoAtPosition(file, open(code));
      return ts.displayPartsToString(info?.displayParts);
    },
    errors(code) {
      open(code);
      return service.getSemanticDiagnostics(file).map((one) => ts.flattenDiagnosticMessageText(one.messageText, "\n"));
    },
  };
}
