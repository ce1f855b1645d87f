import { resolve } from "node:path";
import ts from "typescript";

/** What an editor shows at the marks `|` in a piece of code. The code is read once: each change costs about a second. */
export interface Editor {
  /** The names that it suggests at one mark. */
  completions(code: string): string[];
  eachCompletions(code: string): string[][];
  /** The type that it shows for each name. */
  eachHover(code: string): string[];
  /** The comment that it shows for each name. */
  eachComment(code: string): string[];
  errors(code: string): string[];
}

/** Opens an editor on a project. `imports` stands above each piece of code of the editor that is made with it. */
export function openProject(folder: string): (imports: string) => Editor {
  const file = resolve(folder, "in-the-editor.ts");
  const { config } = ts.readConfigFile(resolve(folder, "tsconfig.json"), ts.sys.readFile) as { config: object };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, folder);
  let text = "";
  let version = 0;
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getCurrentDirectory: () => folder,
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
  return (imports) =>
    editorOf(service, file, (code) => {
      const before = `${imports}\n`;
      text = before + code.replace("|", "");
      version++;
      return before.length + code.indexOf("|");
    });
}

function editorOf(service: ts.LanguageService, file: string, open: (code: string) => number): Editor {
  const each = <T>(code: string, ask: (position: number) => T): T[] => {
    const pieces = code.split("|");
    let position = open(`|${pieces.join("")}`);
    return pieces.slice(0, -1).map((piece) => ask((position += piece.length)));
  };
  const completionsAt = (position: number): string[] => {
    const found = service.getCompletionsAtPosition(file, position, {});
    return (found?.entries ?? []).map((entry) => entry.name);
  };
  const infoAt = (position: number) => service.getQuickInfoAtPosition(file, position);
  return {
    completions: (code) => completionsAt(open(code)),
    eachCompletions: (code) => each(code, completionsAt),
    eachHover: (code) => each(code, (position) => ts.displayPartsToString(infoAt(position)?.displayParts)),
    eachComment: (code) => each(code, (position) => ts.displayPartsToString(infoAt(position)?.documentation)),
    errors(code) {
      open(code);
      return service.getSemanticDiagnostics(file).map((one) => ts.flattenDiagnosticMessageText(one.messageText, "\n"));
    },
  };
}
