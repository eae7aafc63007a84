/** Tables as Markdown. */
import type { Cells } from './row.ts';

const line = (cells: Cells): string => `| ${cells.join(' | ')} |`;

export function table(head: Cells, rows: readonly Cells[]): string[] {
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}
