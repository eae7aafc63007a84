/** Where in an object: keys and list indexes from the root. */
export type FieldPath = readonly (string | number)[];

/** One thing that is wrong with an object. */
export interface Problem {
  readonly path: FieldPath;
  /** What the API server says about the field, in its words. */
  readonly message: string;
  /** What else helps to put it right, without a full stop. */
  readonly hint?: string;
}

/** A path as the API server writes it: `spec.taints[0].key`. Keys of maps come after a dot, whatever is in them. */
export function formatPath(path: FieldPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

/** Whether `path` is `ancestor` or lies within it. */
export function isWithin(path: FieldPath, ancestor: FieldPath): boolean {
  return ancestor.length <= path.length && ancestor.every((part, index) => path[index] === part);
}
