// Label selectors, read as apimachinery's LabelSelectorAsSelector reads them (apis/meta/v1/helpers.go and
// labels/selector.go): a selector that the server would not parse is invalid here too, and never matches by accident.
import type { LabelSelector, LabelSelectorRequirement } from '../kube/types.ts';
import { labelKeyProblem, labelValueProblem } from './syntax.ts';

/** The labels of an object; undefined is an object without any. */
export type Labels = Readonly<Record<string, string>> | undefined;

export type ParsedSelector =
  | { readonly kind: 'ok'; readonly matches: (labels: Labels) => boolean }
  /** `message` names the key or operator that cannot be parsed, without a path. */
  | { readonly kind: 'invalid'; readonly message: string };

type Requirement = (labels: Labels) => boolean;

/**
 * Parses a selector once, so that it can be asked about many pods.
 * @param unset what a selector that is not there means; it differs by field: `everything` for spec.drain.podSelector,
 *   `nothing` for a PodDisruptionBudget of policy/v1. An empty selector (`{}`) matches everything in both.
 */
export function parseSelector(
  selector: LabelSelector | undefined,
  unset: 'everything' | 'nothing',
): ParsedSelector {
  if (selector === undefined) {
    const answer = unset === 'everything';
    return { kind: 'ok', matches: () => answer };
  }
  const requirements: Requirement[] = [];
  const problems: string[] = [];
  const take = (parsed: Requirement | string) => {
    if (typeof parsed === 'string') problems.push(parsed);
    else requirements.push(parsed);
  };
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    take(parseRequirement({ key, operator: 'In', values: [value] }));
  }
  for (const expression of selector.matchExpressions ?? []) take(parseRequirement(expression));
  if (problems.length > 0) return { kind: 'invalid', message: problems.join('; ') };
  return { kind: 'ok', matches: (labels) => requirements.every((requirement) => requirement(labels)) };
}

/** @returns the test, or a sentence that says why there is none */
function parseRequirement({ key, operator, values = [] }: LabelSelectorRequirement): Requirement | string {
  const keyProblem = labelKeyProblem(key);
  if (keyProblem !== undefined) return `label key ${JSON.stringify(key)}: ${keyProblem}`;
  for (const value of values) {
    const problem = labelValueProblem(value);
    if (problem !== undefined) return `label ${key}, value ${JSON.stringify(value)}: ${problem}`;
  }
  switch (operator) {
    case 'In':
    case 'NotIn': {
      if (values.length === 0) return `label ${key}: operator ${operator} needs at least one value`;
      const wanted = new Set(values);
      if (operator === 'In') {
        return (labels) => {
          const value = lookUp(labels, key);
          return value !== undefined && wanted.has(value);
        };
      }
      return (labels) => {
        const value = lookUp(labels, key);
        return value === undefined || !wanted.has(value);
      };
    }
    case 'Exists':
    case 'DoesNotExist': {
      if (values.length > 0) return `label ${key}: operator ${operator} takes no values`;
      const wanted = operator === 'Exists';
      return (labels) => (lookUp(labels, key) !== undefined) === wanted;
    }
    default:
      return `label ${key}: operator ${JSON.stringify(operator)} is not one of In, NotIn, Exists, DoesNotExist`;
  }
}

function lookUp(labels: Labels, key: string): string | undefined {
  // A label may be called "constructor", which every object literal seems to have.
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** The selector as the query parameter `labelSelector`. One without requirements selects everything. */
export function formatSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...equal, ...matchExpressions.map(formatRequirement)].join(',');
}

function formatRequirement({ key, operator, values = [] }: LabelSelectorRequirement): string {
  switch (operator) {
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    default:
      return `${key} ${operator.toLowerCase()} (${values.join(',')})`;
  }
}
