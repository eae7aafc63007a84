/** NodeMaintenances from the CRD's own schema: every field, its edges, and what the schema should refuse. */
import { apiVersion, kind } from '../../../src/api/names.ts';
import { crdSchema } from '../../../src/api/crd.generated.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import type { Schema } from '../../../hack/generate/schema.ts';
import type { SeededRandom } from '../../e2e/support/random.ts';
import { hostileText } from './text.ts';

export interface FuzzedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly spec: unknown;
}

/** What the text of a field may be, beside what is hostile: by the name of the field. */
export interface Vocabulary {
  readonly nodes: readonly [string, ...string[]];
  readonly labelKeys: readonly [string, ...string[]];
  readonly labelValues: readonly [string, ...string[]];
}

const spec = as<Schema>(crdSchema.properties.spec);
const ODD_NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'nodename',
  'x'.repeat(300),
  '',
  '\u0000',
] as const;

const LONGEST_NAME = 253;
/** Each once, as there is no other of that name. */
const STRANGE_NAMES = [
  'constructor',
  'status',
  'null',
  'true',
  '0',
  '1e3',
  '0x0',
  'xn--80ak6aa92e',
  'a.b.c.d',
];
const NO_NAMES = [
  '',
  '.',
  '..',
  '../nodes',
  'a/b',
  'a%2fb',
  'a..b',
  '.a',
  'a.',
  '-a',
  'a-',
  'a b',
  'Node-1',
  'toString',
  '__proto__',
  'fuzz\u0000',
  'fuzz\n',
  'n\u00f6',
  '\u0430', // an a of Cyrillic
  '\uff41', // a wide one
  'a'.repeat(LONGEST_NAME + 1),
  'a.'.repeat(50_000),
] as const;

export class ObjectMaker {
  readonly #random: SeededRandom;
  readonly #words: Vocabulary;
  readonly #strangeNames = [...STRANGE_NAMES];
  /** Of a hundred values, how many are of the wrong kind or beyond an edge; another one for each object. */
  #wrong = 0;

  constructor(random: SeededRandom, words: Vocabulary) {
    this.#random = random;
    this.#words = words;
  }

  /** `name`: unless it becomes a strange one; `node`: where there is no choice of it. */
  make(name: string, node?: string): FuzzedObject {
    this.#wrong = this.#random.pick([0, 0, 0, 0, 0, 0, 0, 1, 5, 30]);
    const fields = as<Record<string, unknown>>(this.#object(spec));
    return {
      apiVersion,
      kind,
      metadata: { name: this.#name(name), ...this.#metadata() },
      spec: node === undefined ? fields : { ...fields, nodeName: node },
    };
  }

  #name(name: string): string {
    const way = this.#random.between(1, 100);
    if (way <= 3) return `${name.padEnd(LONGEST_NAME - 1, '.n-n')}n`;
    if (way <= 5) return this.#strangeNames.pop() ?? `${name}.constructor`;
    if (way <= 7) return this.#random.pick(NO_NAMES);
    return way <= 8 ? hostileText(this.#random, 300) : name;
  }

  #metadata(): object {
    if (!this.#chance(10)) return {};
    const { labelKeys, labelValues } = this.#words;
    return {
      labels: { [this.#random.pick(labelKeys)]: this.#random.pick(labelValues) },
      annotations: {
        'example.com/hostile': hostileText(this.#random, 2_000),
        ...(this.#chance(5) ? { 'example.com/huge': 'x'.repeat(200_000) } : {}),
      },
    };
  }

  #value(schema: Schema, field: string): unknown {
    if (this.#chance(this.#wrong)) return this.#wrongValue();
    switch (schema.type) {
      case 'boolean':
        return this.#random.pick([true, false]);
      case 'integer':
        return this.#integer(schema);
      case 'string':
        return this.#text(schema, field);
      case 'array':
        return this.#list(schema, field);
      case 'object':
      case undefined:
        return schema.additionalProperties ? this.#map(schema) : this.#object(schema);
    }
  }

  #object(schema: Schema): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    for (const [field, inner] of Object.entries(schema.properties ?? {})) {
      const isNeeded = schema.required?.includes(field) ?? false;
      if (!isNeeded && this.#chance(field === 'drain' ? 20 : 60)) continue;
      if (isNeeded && this.#chance(this.#wrong)) continue;
      const value = !isNeeded && this.#chance(5) ? null : this.#value(inner, field);
      entries.push([field, value]);
    }
    if (this.#chance(this.#wrong)) entries.push([this.#random.pick(ODD_NAMES), this.#wrongValue()]);
    return consistent(Object.fromEntries(this.#random.shuffled(entries)), this.#chance(this.#wrong));
  }

  #map({ additionalProperties = {}, maxProperties = 0 }: Schema): Record<string, unknown> {
    const entries = Array.from({ length: this.#size(maxProperties) }, (_, index) => {
      const key = this.#chance(80) ? this.#random.pick(this.#words.labelKeys) : `example.com/k-${index}`;
      const written = this.#chance(this.#wrong) ? this.#random.pick(ODD_NAMES) : key;
      return [written, this.#value(additionalProperties, 'values')] as const;
    });
    return Object.fromEntries(entries);
  }

  #list({ items = {}, maxItems = 0 }: Schema, field: string): unknown[] {
    return Array.from({ length: this.#size(maxItems) }, (_, index) => {
      const item = this.#value(items, field);
      // Key and effect together are unique in the list of taints.
      return field === 'taints' && isRecord(item) && !this.#chance(this.#wrong)
        ? { ...item, key: `example.com/t-${index}` }
        : item;
    });
  }

  #size(most: number): number {
    return this.#random.pick([0, 1, 1, 1, 2, 3, most, this.#chance(this.#wrong) ? most + 1 : 1]);
  }

  #integer({ minimum = 0, maximum = 1000 }: Schema): number {
    if (this.#chance(this.#wrong))
      return this.#random.pick([minimum - 1, maximum + 1, -(2 ** 31), 2 ** 31, 2 ** 53, 1.5, 1e300]);
    return this.#random.pick([
      minimum,
      minimum + 1,
      maximum - 1,
      maximum,
      this.#random.between(minimum, Math.min(maximum, minimum + 60)),
    ]);
  }

  #text(schema: Schema, field: string): string {
    const { nodes, labelKeys, labelValues } = this.#words;
    if (schema.enum) return this.#random.pick(as<readonly [string, ...string[]]>(schema.enum));
    const longest = schema.maxLength ?? 100;
    if (this.#chance(this.#wrong)) return hostileText(this.#random, longest + 1);
    if (field === 'nodeName')
      return this.#random.pick([
        ...([0, 1, 2, 3, 4, 5, 6, 7].map(() => this.#random.pick(nodes)) as [string, ...string[]]),
        `nowhere-${this.#random.between(1, 50)}`,
        `${'n'.repeat(60)}.${'a-'.repeat(90)}b`.slice(0, longest),
      ]);
    if (field === 'key') return this.#random.pick(labelKeys);
    if (field === 'value' || field === 'values') return this.#random.pick(labelValues);
    return hostileText(this.#random, longest);
  }

  #wrongValue(): unknown {
    return this.#random.pick<unknown>([
      null,
      'x',
      '',
      7,
      -1.5,
      true,
      [],
      {},
      [[]],
      [null],
      { __proto__x: 1 },
      hostileText(this.#random, 50),
    ]);
  }

  #chance(percent: number): boolean {
    return this.#random.between(1, 100) <= percent;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What the rules beside the types ask for, so that most objects pass; `not`: sometimes they do not. */
function consistent(fields: Record<string, unknown>, not: boolean): Record<string, unknown> {
  if (not) return fields;
  const { operator, values, onTimeout, timeoutSeconds, deleteBlockedAfterSeconds: blocked } = fields;
  if (operator === 'Exists' || operator === 'DoesNotExist') return { ...fields, values: null };
  if ((operator === 'In' || operator === 'NotIn') && !(Array.isArray(values) && values.length > 0))
    return { ...fields, values: ['web'] };
  if (onTimeout === 'Delete' && typeof timeoutSeconds !== 'number') return { ...fields, onTimeout: 'Fail' };
  if (typeof blocked === 'number' && typeof timeoutSeconds === 'number' && blocked >= timeoutSeconds)
    return { ...fields, deleteBlockedAfterSeconds: null };
  return fields;
}
