import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { LineSplitter } from '../../../src/kube/line-splitter.ts';

describe('LineSplitter', () => {
  test('gives the same lines however the bytes are cut', () => {
    const line = fc.string({ unit: 'binary', minLength: 1 }).map((text) => text.replaceAll('\n', '\\n'));
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat({ max: 40 })), fc.boolean(), (lines, cuts, torn) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join('') + (torn ? 'torn' : ''));
        const splitter = new LineSplitter();
        const got: string[] = [];
        let at = 0;
        for (const cut of [...cuts, bytes.length]) {
          got.push(...splitter.push(bytes.subarray(at, at + cut)));
          at += cut;
        }
        got.push(...splitter.push(bytes.subarray(at)));
        expect(got).toEqual(lines);
        expect(splitter.pending).toBe(torn ? 4 : 0);
      }),
    );
  });

  test('leaves out empty lines', () => {
    expect(new LineSplitter().push(Buffer.from('\n\na\n\nb\n'))).toEqual(['a', 'b']);
  });

  test('keeps a long line in linear time', () => {
    const splitter = new LineSplitter();
    const chunk = Buffer.alloc(1_024, 'x');
    for (let i = 0; i < 20_000; i += 1) {
      splitter.push(chunk);
    }
    expect(splitter.push(Buffer.from('\n'))[0]).toHaveLength(20_000 * 1_024);
  });

  test('refuses a line without end', () => {
    const splitter = new LineSplitter(10);
    splitter.push(Buffer.from('12345'));
    expect(() => splitter.push(Buffer.from('678901'))).toThrow('longer than 10 bytes');
  });
});
