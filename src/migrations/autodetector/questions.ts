/** A question that the models alone cannot answer. */
export type Question = {
  /** The key of the answer. */
  readonly key: string;
  /** The text of the question. */
  readonly text: string;
} & QuestionSubject;

export type QuestionSubject =
  | { readonly kind: "renameTable"; readonly from: string; readonly to: string }
  | { readonly kind: "renameColumn"; readonly table: string; readonly from: string; readonly to: string }
  | { readonly kind: "renameEnum"; readonly from: string; readonly to: string }
  | { readonly kind: "renameEnumValue"; readonly enum: string; readonly from: string; readonly to: string }
  /** The value that rows get instead of a removed one. */
  | {
      readonly kind: "replaceEnumValue";
      readonly enum: string;
      readonly value: string;
      readonly values: readonly string[];
    }
  /** SQL for the rows that have no value, in a column that must hold one. */
  | {
      readonly kind: "fill";
      readonly table: string;
      readonly column: string;
      readonly type: string;
      readonly reason: "added" | "notNull" | "dropped";
    };

/** By the key of a question: true or false for a rename, SQL for a fill, a value of the enum. */
export type Answers = ReadonlyMap<string, boolean | string>;

export interface Asker {
  /** True if it was renamed; undefined without an answer. */
  renamed(subject: QuestionSubject): boolean | undefined;
  /** The SQL or the value of the answer; undefined without an answer, or if it is empty. */
  text(subject: QuestionSubject): string | undefined;
  readonly questions: readonly Question[];
  /** All SQL and values that were given. */
  readonly texts: readonly string[];
}

export function asker(answers: Answers): Asker {
  const questions: Question[] = [];
  const answerTo = (subject: QuestionSubject): boolean | string | undefined => {
    const question = questionAbout(subject);
    const answer = answers.get(question.key);
    if (answer === undefined) questions.push(question);
    return answer;
  };
  return {
    questions,
    texts: [...answers.values()].filter((answer) => typeof answer === "string"),
    renamed(subject) {
      const answer = answerTo(subject);
      return answer === undefined ? undefined : answer === true;
    },
    text(subject) {
      const answer = answerTo(subject);
      return typeof answer === "string" && answer !== "" ? answer : undefined;
    },
  };
}

function questionAbout(subject: QuestionSubject): Question {
  switch (subject.kind) {
    case "renameTable":
      return question(subject, [subject.from, subject.to], `Was the table ${subject.from} renamed to ${subject.to}?`);
    case "renameColumn": {
      const { table, from, to } = subject;
      return question(subject, [table, from, to], `Was the column ${table}.${from} renamed to ${to}?`);
    }
    case "renameEnum":
      return question(subject, [subject.from, subject.to], `Was the enum ${subject.from} renamed to ${subject.to}?`);
    case "renameEnumValue": {
      const { enum: name, from, to } = subject;
      return question(subject, [name, from, to], `Was the value '${from}' of the enum ${name} renamed to '${to}'?`);
    }
    case "replaceEnumValue": {
      const { enum: name, value } = subject;
      return question(
        subject,
        [name, value],
        `The value '${value}' of the enum ${name} was removed. Which value do rows get that hold it?`,
      );
    }
    case "fill": {
      const { table, column, type, reason } = subject;
      const texts = {
        added: `The new column ${table}.${column} (${type}) must hold a value and has no default. Which value do existing rows get?`,
        notNull: `The column ${table}.${column} (${type}) must now hold a value. Which value do rows get in which it is null?`,
        dropped: `The column ${table}.${column} (${type}) is dropped and must hold a value. What do rows get when the migration is undone?`,
      };
      return question(subject, [table, column], texts[reason]);
    }
  }
}

function question(subject: QuestionSubject, names: readonly string[], text: string): Question {
  return { ...subject, key: [subject.kind, ...names].join(" "), text };
}
