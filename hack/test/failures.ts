import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** What is read of the report that jest writes with --json. */
export interface JestReport {
  readonly testResults?: readonly {
    /** The file. */
    readonly name: string;
    /** Everything that jest said of it; the only thing that it says of a file that did not load. */
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

// What was expected and what came stands in the first lines; after them comes the way through the test runner.
const linesOfOne = 25;

/**
 * What failed in a jest run and why, a paragraph for each test, or for a file that did not load. Empty when the
 * report tells of no failure.
 */
export function failures({ testResults = [] }: JestReport): readonly string[] {
  return testResults.flatMap(({ name, message, assertionResults }) => {
    const file = relative('', name);
    if (assertionResults.length === 0) return message === '' ? [] : [paragraph(file, message)];
    return assertionResults
      .filter(({ status }) => status === 'failed')
      .map((one) => paragraph(`${file}: ${one.fullName}`, (one.failureMessages ?? []).join('\n')));
  });
}

function paragraph(title: string, message: string): string {
  const lines = stripVTControlCharacters(message).trim().split('\n').slice(0, linesOfOne);
  return [title, ...lines.map((line) => (line === '' ? '' : `  ${line}`))].join('\n');
}
