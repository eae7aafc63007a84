// Kubernetes quantities ("500m", "1.5Gi", "2e3"), exactly. The parser of @kubernetes/client-node cannot read "1.5Gi".

/** An amount in billionths, the finest that a quantity can say. */
export type Nano = bigint;

const nano = 1_000_000_000n;

const suffixes: Readonly<Record<string, Fraction>> = {
  n: [1n, nano],
  u: [1n, 1_000_000n],
  m: [1n, 1_000n],
  '': [1n, 1n],
  ...powers(['k', 'M', 'G', 'T', 'P', 'E'], 1_000n),
  ...powers(['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'], 1_024n),
};

type Fraction = readonly [numerator: bigint, denominator: bigint];

const pattern = /^([+-]?)(\d*)(?:\.(\d*))?([a-zA-Z]{0,2}|[eE][+-]?\d{1,3})$/;

/**
 * Reads a quantity as the API server writes it. Finer than a billionth is rounded away from zero, as there. Throws for
 * a text that is none: no API server stores one.
 */
export function parseQuantity(text: string): Nano {
  const [, sign, whole = '', decimals = '', suffix = ''] = pattern.exec(text) ?? [];
  const scale = suffixes[suffix] ?? exponent(suffix);
  if (sign === undefined || whole + decimals === '' || scale === undefined) {
    throw new Error(`${JSON.stringify(text)} is not a quantity`);
  }
  const [numerator, denominator] = scale;
  const above = BigInt(whole + decimals) * numerator * nano;
  const below = denominator * 10n ** BigInt(decimals.length);
  const amount = (above + below - 1n) / below;
  return sign === '-' ? -amount : amount;
}

/** As people write it: CPU in cores or thousandths, bytes in Ki to Ti, all else as a plain number. */
export function formatQuantity(resource: string, amount: Nano): string {
  if (amount < 0n) return `-${formatQuantity(resource, -amount)}`;
  if (resource === 'cpu') {
    return amount % nano === 0n ? String(amount / nano) : `${amount / 1_000_000n}m`;
  }
  const units = amount / nano;
  if (!isBytes(resource)) return String(units);
  // Two digits are enough to compare by eye; "1Gi" and not "1024Mi".
  for (const [suffix, size] of [['Ti', 1_024n ** 4n] as const, ['Gi', 1_024n ** 3n] as const]) {
    if (units >= size) return `${trimZeros((Number((units * 100n) / size) / 100).toFixed(2))}${suffix}`;
  }
  if (units >= 1_024n ** 2n) return `${units / 1_024n ** 2n}Mi`;
  return units >= 1_024n ? `${units / 1_024n}Ki` : String(units);
}

function isBytes(resource: string): boolean {
  return resource === 'memory' || resource === 'ephemeral-storage' || resource.startsWith('hugepages-');
}

function trimZeros(text: string): string {
  return text.replace(/\.?0+$/, '');
}

function exponent(suffix: string): Fraction | undefined {
  if (!/^[eE][+-]?\d+$/.test(suffix)) return undefined;
  const power = Number(suffix.slice(1));
  return power >= 0 ? [10n ** BigInt(power), 1n] : [1n, 10n ** BigInt(-power)];
}

function powers(names: readonly string[], base: bigint): Record<string, Fraction> {
  return Object.fromEntries(names.map((name, index) => [name, [base ** BigInt(index + 1), 1n] as const]));
}
