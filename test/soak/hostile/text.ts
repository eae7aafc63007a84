/** Text as nobody should write it, from every class of Unicode. */
import type { SeededRandom } from '../../e2e/support/random.ts';

export const SAMPLES: readonly [string, ...string[]] = [
  'Firmware 4.2',
  '',
  ' ',
  '\u0000', // NUL
  'a\nb\r\nc\td\u000b\u000c', // line ends and tabs
  '{"level":"error","message":"forged"}\n{"level":"info"}', // another line of the log
  '\u001b[2J\u001b[31mred\u001b]0;title\u0007', // escape sequences
  '\u009b2J\u0085\u0090', // the same in one byte, and a line end of ISO 8859
  '\u202eesrever\u202c \u2066isolated\u2069 \u200f\u061c', // direction
  'ad\u200bm\u2060i\ufeffn\u00ad', // no width
  '\u2028\u2029', // ends of lines and paragraphs
  'Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324\u031e\u0349', // marks that combine
  '\u{1f469}\u200d\u{1f680}\u{1f1e9}\u{1f1ea}\u{e0041}', // four bytes, joiners, tags
  '\ufffd\ufffe\uffff\u{10ffff}', // no characters
  '\ue000\u{f0000}', // private use
  'ß ſ K İ ı ﬁ Å ǅ', // case folding and normal forms
  'ʰa\u20dd Ⅳ ½ _—«»€^', // letters, marks, numbers and signs of the rarer kinds
  '\ud800 \udfff', // halves of a character
  '中文 العربية עברית हिन्दी ไทย ༄',
  '"\'`$(id);<script>alert(1)</script>%s%n\\u0000{{.}}',
  '__proto__',
  'constructor',
  'name="x",node="y"} 1\nhaulout_leader 7', // Prometheus' format
  'Bearer abcdefghijklmnopqrstuvwxyz0123456789',
];

export function hostileText(random: SeededRandom, longest: number): string {
  const characters = Array.from({ length: random.between(1, 4) }, () => random.pick(SAMPLES)).join(' ');
  const wanted = random.pick([characters.length, characters.length, 1, longest - 1, longest]);
  // The API server counts characters, not UTF-16 units.
  const [...filled] = characters === '' ? '' : characters.repeat(Math.ceil(wanted / characters.length));
  return filled.slice(0, Math.max(0, wanted)).join('');
}
