/** Thrown where the cluster does not have what a test asks for: the test then counts as skipped (environment.ts). */
export class NotHere extends Error {
  override readonly name = 'NotHere';
}
