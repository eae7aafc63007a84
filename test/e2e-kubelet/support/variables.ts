/** How global-setup.ts tells the test files what it has found and built. */
export const REASON_VARIABLE = 'HAULOUT_NO_REAL_NODE';
export const IMAGES_VARIABLE = 'HAULOUT_IMAGES';
