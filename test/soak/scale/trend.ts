/** Straight lines through measured points. */
export type Pair = readonly [x: number, y: number];

export interface Line {
  readonly base: number;
  readonly slope: number;
}

/** By least squares: for points that lie near a line. */
export function lineThrough(points: readonly Pair[]): Line {
  const count = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / count;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / count;
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  const slope =
    spread === 0 ? 0 : points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread;
  return { base: meanY - slope * meanX, slope };
}

/**
 * The median of the slopes between all pairs of points (Theil and Sen): a few outliers, such as what is compiled or
 * cached once, do not move it.
 */
export function medianSlope(points: readonly Pair[]): number {
  const slopes = points.flatMap(([x1, y1], index) =>
    points
      .slice(index + 1)
      .filter(([x2]) => x2 !== x1)
      .map(([x2, y2]) => (y2 - y1) / (x2 - x1)),
  );
  const sorted = slopes.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}
