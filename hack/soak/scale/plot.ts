/** Plots as SVG: panels side by side, each with its own axes, points, and dashed lines where there is a trend. */
import { lineThrough, type Pair } from '../../../test/soak/scale/trend.ts';

export interface Series {
  readonly name: string;
  readonly points: readonly Pair[];
  /** A straight line through the points is drawn, too. */
  readonly trend?: boolean;
}

export interface Panel {
  readonly title: string;
  readonly xLabel: string;
  readonly series: readonly Series[];
}

const WIDTH = 300;
const HEIGHT = 250;
const EDGE = { left: 52, right: 16, top: 40, bottom: 58 };
/** Told apart by people who do not see all colours, too (Okabe and Ito). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73'];
const TICKS = 4;

export function plot(title: string, panels: readonly Panel[]): string {
  const width = WIDTH * panels.length;
  const height = HEIGHT + 28;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" fill="#222">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(width / 2, 20, title, 'font-size="14" font-weight="bold" text-anchor="middle"'),
    ...panels.map((panel, index) => `<g transform="translate(${index * WIDTH} 28)">${panelOf(panel)}</g>`),
    '</svg>',
    '',
  ].join('\n');
}

function panelOf({ title, xLabel, series }: Panel): string {
  const all = series.flatMap(({ points }) => points);
  const xs = ticks(Math.max(...all.map(([x]) => x)));
  const ys = ticks(Math.max(...all.map(([, y]) => y)));
  const inner = { width: WIDTH - EDGE.left - EDGE.right, height: HEIGHT - EDGE.top - EDGE.bottom };
  const atX = (x: number): number => round(EDGE.left + (x / last(xs)) * inner.width);
  const atY = (y: number): number => round(EDGE.top + inner.height - (y / last(ys)) * inner.height);
  const [left, right, bottom] = [EDGE.left, WIDTH - EDGE.right, EDGE.top + inner.height];
  return [
    text(left, 24, title, 'font-weight="bold"'),
    ...ys.flatMap((y) => [
      `<line x1="${left}" x2="${right}" y1="${atY(y)}" y2="${atY(y)}" stroke="#ddd"/>`,
      text(left - 6, atY(y) + 4, label(y), 'text-anchor="end"'),
    ]),
    ...xs.map((x) => text(atX(x), bottom + 15, label(x), 'text-anchor="middle"')),
    `<line x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}" stroke="#222"/>`,
    text((left + right) / 2, bottom + 31, xLabel, 'text-anchor="middle"'),
    ...series.flatMap((one, index) => seriesOf(one, COLOURS[index] ?? '#000', last(xs), atX, atY)),
    ...(series.length > 1 ? legend(series, bottom + 47) : []),
  ].join('\n');
}

function seriesOf(
  { points, trend }: Series,
  colour: string,
  mostX: number,
  atX: (x: number) => number,
  atY: (y: number) => number,
): string[] {
  const path = points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${atX(x)} ${atY(y)}`).join('');
  const dots = points.map(([x, y]) => `<circle cx="${atX(x)}" cy="${atY(y)}" r="3" fill="${colour}"/>`);
  if (trend !== true)
    return [`<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>`, ...dots];
  const { base, slope } = lineThrough(points);
  const end = base + slope * mostX;
  return [
    `<line x1="${atX(0)}" y1="${atY(base)}" x2="${atX(mostX)}" y2="${atY(end)}" stroke="${colour}" stroke-width="1.5" stroke-dasharray="5 4"/>`,
    ...dots,
  ];
}

function legend(series: readonly Series[], y: number): string[] {
  const step = (WIDTH - EDGE.left) / series.length;
  return series.flatMap(({ name }, index) => {
    const x = round(EDGE.left + index * step);
    return [
      `<circle cx="${x}" cy="${y - 4}" r="3" fill="${COLOURS[index] ?? '#000'}"/>`,
      text(x + 7, y, name, ''),
    ];
  });
}

/** From nothing to no less than `most`, at round numbers. */
export function ticks(most: number): number[] {
  if (!(most > 0)) return [0, 1];
  const raw = most / TICKS;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => power * factor >= raw * 0.999) ?? 10);
  return Array.from({ length: Math.ceil((most / step) * 0.999) + 1 }, (_, index) =>
    Number((index * step).toPrecision(12)),
  );
}

const last = (values: readonly number[]): number => values.at(-1) ?? 1;
const round = (value: number): number => Math.round(value * 10) / 10;
const label = (value: number): string => value.toLocaleString('en-US');
const escaped = (value: string): string => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const text = (x: number, y: number, value: string, attributes: string): string =>
  `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped(value)}</text>`;
