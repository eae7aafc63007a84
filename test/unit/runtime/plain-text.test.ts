import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cleanMessage, cutText, escapeUnprintable } from '../../../src/runtime/plain-text.ts';

const anyText = fc.string({ unit: 'binary' });
const hidden = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|(?![\u200c\u200d])\p{Cf}/u;

describe('a message for people', () => {
  test.each<[string, string, string]>([
    ['line ends', 'a\r\nb\u2028c\u2029d\u0085e', 'a b c d e'],
    ['NUL and the bell', 'a\u0000b\u0007c', 'a b c'],
    ['an escape sequence', 'a\u001b[31mred\u001b[0m', 'a [31mred [0m'],
    ['the one-byte form of it', 'a\u009b2Jb', 'a 2Jb'],
    ['overrides of the direction', 'pay \u202eeeffoc\u202c now \u2066x\u2069', 'pay eeffoc now x'],
    ['characters without width', 'ad\u200bmin\ufeff\u2060\u00ad', 'admin'],
    ['tags', 'a\u{e0041}\u{e007f}b', 'ab'],
    ['half a pair', 'a\ud83d b', 'a\ufffd b'],
    ['joiners of scripts and emoji stay', '👩\u200d🚀 می\u200cخواهم', '👩\u200d🚀 می\u200cخواهم'],
    ['marks that combine stay', 'Z\u0351\u036b\u0343a', 'Z\u0351\u036b\u0343a'],
  ])('%s', (_, text, clean) => expect(cleanMessage(text)).toBe(clean));

  test('any text: one line, bounded, the same again, and as an API server gives it back', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 40 }), (text, longest) => {
        const clean = cleanMessage(text, longest);
        expect(clean).not.toMatch(hidden);
        expect(clean.length).toBeLessThanOrEqual(longest);
        expect(clean.isWellFormed()).toBe(true);
        expect(cleanMessage(clean, longest)).toBe(clean);
      }),
    );
  });
});

test('a cut never leaves half a character', () => {
  fc.assert(
    fc.property(anyText, fc.nat(20), (text, longest) => {
      fc.pre(text.isWellFormed());
      const cut = cutText(text, longest);
      expect(cut.isWellFormed()).toBe(true);
      expect(text.startsWith(cut)).toBe(true);
    }),
  );
});

test('what is escaped means the same in JSON and shows nothing that it hides', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const escaped = escapeUnprintable(JSON.stringify({ [text]: text }));
      expect(escaped).not.toMatch(hidden);
      expect(JSON.parse(escaped)).toEqual({ [text]: text });
    }),
  );
});
