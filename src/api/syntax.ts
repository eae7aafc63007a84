// How Kubernetes wants names and labels to be written. Every function answers with what to write instead, or with
// undefined when there is nothing to say.

const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelName = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** Longest name of a label, prefix apart, and longest value, in characters. */
const maxLabelLength = 63;

/** Longest name of an object and longest prefix of a label, in characters. */
const maxSubdomainLength = 253;

/** The name of a NodeMaintenance or of a Node: a DNS-1123 subdomain. */
export function subdomainProblem(name: string): string | undefined {
  if (name.length > maxSubdomainLength) return `must be no more than ${maxSubdomainLength} characters`;
  if (dnsSubdomain.test(name)) return undefined;
  return 'must be lower-case letters, digits, "-" and ".", beginning and ending with a letter or digit';
}

/** The key of a label, of an annotation or of a taint. */
export function labelKeyProblem(key: string): string | undefined {
  const slash = key.indexOf('/');
  const prefix = key.slice(0, Math.max(slash, 0));
  const name = key.slice(slash + 1);
  if (slash !== -1 && subdomainProblem(prefix) !== undefined) {
    return 'what is before the "/" must be a DNS name in lower case, such as example.com';
  }
  return nameProblem(name);
}

/** The value of a label; it may be empty. */
export function labelValueProblem(value: string): string | undefined {
  return value === '' ? undefined : nameProblem(value);
}

function nameProblem(name: string): string | undefined {
  if (name.length <= maxLabelLength && labelName.test(name)) return undefined;
  return `must be at most ${maxLabelLength} letters, digits, "-", "_" and ".", beginning and ending with a letter or digit`;
}
