/**
 * What to do with text that others wrote before people see it. Names, reasons, and the words of webhooks may hold line
 * ends, escape sequences of terminals, or characters that turn the text around or hide in it. Pure.
 */

const usualLongest = 1_024;
const lineEnds = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;
// Without the two joiners, which are part of how some scripts and emoji are written.
const invisible = /(?![\u200c\u200d])\p{Cf}/gu;
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cf}\p{Cs}]/gu;

/** One line without control and invisible characters: fit for conditions and events. The same again for its result. */
export function cleanMessage(text: string, longest: number = usualLongest): string {
  const clean = text
    .slice(0, longest * 2)
    .replace(lineEnds, ' ')
    .replace(invisible, '')
    .trim();
  return cutText(clean, longest).trimEnd().toWellFormed();
}

/** The beginning, of at most `longest` UTF-16 units. A half of a pair would come back from the API server as another character. */
export function cutText(text: string, longest: number): string {
  const cut = text.slice(0, longest);
  return cut.length < text.length && /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

/** The same text with everything that cannot be seen as \uXXXX: within JSON it still means the same. */
export function escapeUnprintable(text: string): string {
  return text.replace(unprintable, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
