/** An admission webhook that has a say in evictions, as KubeVirt's does. */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAuthority, createCertificate } from '../../../src/runtime/certificates.ts';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { clusterKind } from '../../../hack/cluster/lib/which-cluster.ts';
import type { Api } from './api.ts';
import { eventually } from './eventually.ts';
import { NotHere } from './not-here.ts';

export interface EvictionReview {
  readonly namespace: string;
  readonly pod: string;
  readonly dryRun: boolean;
  readonly username: string;
}

export interface Refusal {
  readonly code: number;
  readonly message: string;
}

/** undefined lets it pass. */
export type Decide = (review: EvictionReview) => Refusal | undefined | Promise<Refusal | undefined>;

interface AdmissionReview {
  readonly request: {
    readonly uid: string;
    readonly name: string;
    readonly namespace: string;
    readonly dryRun?: boolean;
    readonly userInfo: { readonly username: string };
  };
}

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const PROBE = 'probe-of-the-webhook';

export class EvictionWebhook {
  readonly name: string;
  /** All that it was asked, in order; the probe by which its start is noticed is not among them. */
  readonly reviews: EvictionReview[] = [];
  readonly #decide: Decide;
  readonly #api: Api;
  #close: (() => Promise<void>) | undefined;

  /** `name` of the webhook and of its configuration: three parts, as the API server asks for. */
  constructor(api: Api, name: string, decide: Decide) {
    this.#api = api;
    this.name = name;
    this.#decide = decide;
  }

  /** Returns when the API server asks it about evictions in this namespace, and in this one only. */
  async start(namespace: string): Promise<void> {
    if (clusterKind() !== 'own') throw new NotHere('webhooks on this cluster are not ours to set up');
    const authority = createAuthority('eviction-webhook');
    const certificate = createCertificate(authority, {
      commonName: 'eviction-webhook',
      ipAddresses: ['127.0.0.1'],
    });
    const server = createServer(
      { cert: certificate.certificate, key: certificate.key },
      (request, response) => {
        let text = '';
        request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        request.on('end', () => {
          response.setHeader('content-type', 'application/json');
          void this.#answer(as<AdmissionReview>(JSON.parse(text))).then((answer) =>
            response.end(JSON.stringify(answer)),
          );
        });
      },
    );
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    this.#close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    await this.#api.create(CONFIGURATIONS, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: this.name },
      webhooks: [
        {
          name: this.name,
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Fail',
          clientConfig: {
            url: `https://127.0.0.1:${as<AddressInfo>(server.address()).port}/`,
            caBundle: Buffer.from(authority.certificate).toString('base64'),
          },
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          rules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/eviction'] },
          ],
        },
      ],
    });
    // Admission comes before the look-up of the pod, so a pod that does not exist tells when it has begun.
    await eventually('the API server asks the webhook', async () => {
      const { status } = await this.#api.request(
        'POST',
        `/api/v1/namespaces/${namespace}/pods/${PROBE}/eviction`,
        { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: PROBE, namespace } },
      );
      return status !== 404;
    });
  }

  /** Is not there any more, and the API server goes on asking it. */
  async die(): Promise<void> {
    await this.#close?.();
    this.#close = undefined;
  }

  async stop(): Promise<void> {
    await this.#api.remove(`${CONFIGURATIONS}/${this.name}`);
    await this.#close?.();
  }

  async #answer({ request }: AdmissionReview): Promise<object> {
    const { uid, name, namespace, dryRun = false, userInfo } = request;
    const review = { namespace, pod: name, dryRun, username: userInfo.username };
    let refusal: Refusal | undefined;
    if (name === PROBE) refusal = { code: 418, message: 'here I am' };
    else {
      this.reviews.push(review);
      refusal = await this.#decide(review);
    }
    return {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid, allowed: refusal === undefined, ...(refusal && { status: refusal }) },
    };
  }
}
