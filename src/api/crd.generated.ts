// Generated from crds/ by `make generate`. Do not edit.

/** The CRD's schema for `spec` and `status` with its CEL rules and defaults; descriptions are left out. */
export const crdSchema = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['nodeName'],
      properties: {
        nodeName: {
          type: 'string',
          maxLength: 253,
          'x-kubernetes-validations': [
            {
              rule: 'self == oldSelf',
              message:
                'nodeName cannot be changed: delete this maintenance and create one for the other node',
            },
            {
              rule: "self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
              message:
                'nodeName must be the name of a Node as kubectl get nodes shows it: lower-case letters, digits, "-" and ".", beginning and ending with a letter or digit',
            },
          ],
        },
        reason: { type: 'string', maxLength: 1024 },
        nodeDrainPolicy: { type: 'string', enum: ['Ignore', 'NoSchedule', 'Evacuate'], default: 'Evacuate' },
        nodeDeletePolicy: { type: 'string', enum: ['Orphan', 'Evict'], default: 'Orphan' },
        nodeDeleteTimeoutSeconds: { type: 'integer', minimum: 1, maximum: 31536000, default: 3600 },
        suspend: { type: 'boolean', default: false },
        excludeFromLoadBalancers: { type: 'boolean', default: true },
        taints: {
          type: 'array',
          maxItems: 16,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['key', 'effect'],
          items: {
            type: 'object',
            required: ['key', 'effect'],
            properties: {
              key: {
                type: 'string',
                maxLength: 317,
                'x-kubernetes-validations': [
                  {
                    rule: "self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",
                    message:
                      'a taint\'s key must be a name of at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit, after an optional DNS name and "/", such as example.com/maintenance',
                  },
                  {
                    rule: "!self.startsWith('haulout.dev/')",
                    message:
                      "keys under haulout.dev/ are the operator's own (it puts haulout.dev/maintenance:PreferNoSchedule on the node by itself): use a key of your own, such as example.com/maintenance",
                  },
                  {
                    rule: "!self.startsWith('node.kubernetes.io/') && !self.startsWith('node.cloudprovider.kubernetes.io/')",
                    message:
                      'keys under node.kubernetes.io/ and node.cloudprovider.kubernetes.io/ belong to Kubernetes, which acts on them or takes them off again (nodeDrainPolicy NoSchedule or Evacuate cordons the node already): use a key of your own, such as example.com/maintenance',
                  },
                ],
              },
              value: {
                type: 'string',
                maxLength: 63,
                'x-kubernetes-validations': [
                  {
                    rule: "self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",
                    message:
                      'a taint\'s value must be empty or at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit',
                  },
                ],
              },
              effect: { type: 'string', enum: ['NoSchedule', 'PreferNoSchedule'] },
            },
          },
        },
        drain: {
          type: 'object',
          default: {},
          'x-kubernetes-validations': [
            {
              rule: "!has(self.onTimeout) || self.onTimeout != 'Delete' || has(self.timeoutSeconds)",
              fieldPath: '.timeoutSeconds',
              reason: 'FieldValueRequired',
              message:
                'onTimeout Delete needs timeoutSeconds: write after how many seconds the pods that a budget refuses are to be deleted, or leave onTimeout out',
            },
            {
              rule: '!has(self.deleteBlockedAfterSeconds) || !has(self.timeoutSeconds) || self.deleteBlockedAfterSeconds < self.timeoutSeconds',
              fieldPath: '.deleteBlockedAfterSeconds',
              message:
                'deleteBlockedAfterSeconds must be smaller than timeoutSeconds, or the drain ends before it acts: lower it, or raise timeoutSeconds or leave it out',
            },
          ],
          properties: {
            podSelector: {
              type: 'object',
              'x-kubernetes-map-type': 'atomic',
              properties: {
                matchLabels: {
                  type: 'object',
                  maxProperties: 64,
                  additionalProperties: { type: 'string', maxLength: 63 },
                  'x-kubernetes-validations': [
                    {
                      rule: "self.all(k, size(k) <= 317 && k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",
                      message:
                        'a label\'s key must be a name of at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit, after an optional DNS name and "/", such as app.kubernetes.io/name',
                    },
                    {
                      rule: "self.all(k, self[k].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$'))",
                      message:
                        'a label\'s value must be empty or at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit',
                    },
                  ],
                },
                matchExpressions: {
                  type: 'array',
                  maxItems: 32,
                  'x-kubernetes-list-type': 'atomic',
                  items: {
                    type: 'object',
                    required: ['key', 'operator'],
                    'x-kubernetes-validations': [
                      {
                        rule: "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
                        fieldPath: '.values',
                        reason: 'FieldValueRequired',
                        message:
                          'operators In and NotIn need at least one value: write values, or use Exists or DoesNotExist',
                      },
                      {
                        rule: "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
                        fieldPath: '.values',
                        reason: 'FieldValueForbidden',
                        message:
                          'operators Exists and DoesNotExist look at the key alone: leave values out, or use In or NotIn',
                      },
                    ],
                    properties: {
                      key: {
                        type: 'string',
                        maxLength: 317,
                        'x-kubernetes-validations': [
                          {
                            rule: "self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",
                            message:
                              'a label\'s key must be a name of at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit, after an optional DNS name and "/", such as app.kubernetes.io/name',
                          },
                        ],
                      },
                      operator: { type: 'string', enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'] },
                      values: {
                        type: 'array',
                        maxItems: 64,
                        'x-kubernetes-list-type': 'atomic',
                        items: {
                          type: 'string',
                          maxLength: 63,
                          'x-kubernetes-validations': [
                            {
                              rule: "self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",
                              message:
                                'a label\'s value must be empty or at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit',
                            },
                          ],
                        },
                      },
                    },
                  },
                },
              },
            },
            maxGracePeriodSeconds: { type: 'integer', minimum: 1, maximum: 31536000 },
            timeoutSeconds: { type: 'integer', minimum: 1, maximum: 31536000 },
            onTimeout: { type: 'string', enum: ['Fail', 'Delete'], default: 'Fail' },
            deleteBlockedAfterSeconds: { type: 'integer', minimum: 1, maximum: 31536000 },
            retryIntervalSeconds: { type: 'integer', minimum: 1, maximum: 600, default: 20 },
            skipWaitForDeleteTimeoutSeconds: { type: 'integer', minimum: 0, maximum: 31536000, default: 0 },
            unmanagedPods: { type: 'string', enum: ['Block', 'Evict', 'Skip'], default: 'Block' },
            emptyDirPods: { type: 'string', enum: ['Evict', 'Block', 'Skip'], default: 'Evict' },
            unsatisfiableBudgets: { type: 'string', enum: ['Wait', 'Fail', 'Delete'], default: 'Wait' },
            blockedDeployments: { type: 'string', enum: ['Wait', 'Restart'], default: 'Wait' },
            volumes: {
              type: 'object',
              default: {},
              properties: {
                maxConcurrent: { type: 'integer', minimum: 1, maximum: 1000, default: 1 },
                detachTimeoutSeconds: { type: 'integer', minimum: 1, maximum: 31536000, default: 120 },
                reattachTimeoutSeconds: { type: 'integer', minimum: 0, maximum: 31536000, default: 90 },
              },
            },
          },
        },
      },
    },
    status: {
      type: 'object',
      default: { observedGeneration: -1 },
      properties: {
        observedGeneration: { type: 'integer', format: 'int64' },
        phase: { type: 'string', maxLength: 64 },
        startTime: { type: 'string', format: 'date-time' },
        node: {
          type: 'object',
          required: ['uid'],
          properties: {
            uid: { type: 'string', maxLength: 128 },
            before: {
              type: 'object',
              required: ['unschedulable'],
              properties: { unschedulable: { type: 'boolean' } },
            },
            added: {
              type: 'object',
              properties: {
                labels: {
                  type: 'object',
                  maxProperties: 64,
                  additionalProperties: { type: 'string', maxLength: 63 },
                },
                annotations: {
                  type: 'object',
                  maxProperties: 64,
                  additionalProperties: { type: 'string', maxLength: 32768 },
                },
                taints: {
                  type: 'array',
                  maxItems: 256,
                  'x-kubernetes-list-type': 'atomic',
                  items: {
                    type: 'object',
                    required: ['key', 'effect'],
                    properties: {
                      key: { type: 'string', maxLength: 317 },
                      value: { type: 'string', maxLength: 63 },
                      effect: { type: 'string', maxLength: 64 },
                    },
                  },
                },
              },
            },
          },
        },
        drain: {
          type: 'object',
          properties: {
            startTime: { type: 'string', format: 'date-time' },
            activeSeconds: { type: 'integer', format: 'int64', minimum: 0 },
            completionTime: { type: 'string', format: 'date-time' },
            progress: { type: 'string', maxLength: 64 },
            pods: {
              type: 'object',
              required: ['total', 'gone', 'remaining', 'terminating', 'ignored'],
              properties: {
                total: { type: 'integer', format: 'int32', minimum: 0 },
                gone: { type: 'integer', format: 'int32', minimum: 0 },
                remaining: { type: 'integer', format: 'int32', minimum: 0 },
                terminating: { type: 'integer', format: 'int32', minimum: 0 },
                ignored: { type: 'integer', format: 'int32', minimum: 0 },
              },
            },
            volumes: {
              type: 'array',
              maxItems: 1000,
              'x-kubernetes-list-type': 'atomic',
              items: {
                type: 'object',
                required: ['pod', 'volumes'],
                properties: {
                  pod: {
                    type: 'object',
                    required: ['namespace', 'name', 'uid'],
                    properties: {
                      namespace: { type: 'string', maxLength: 253 },
                      name: { type: 'string', maxLength: 253 },
                      uid: { type: 'string', maxLength: 128 },
                    },
                  },
                  owner: {
                    type: 'object',
                    required: ['apiVersion', 'kind', 'name', 'uid'],
                    properties: {
                      apiVersion: { type: 'string', maxLength: 317 },
                      kind: { type: 'string', maxLength: 63 },
                      name: { type: 'string', maxLength: 253 },
                      uid: { type: 'string', maxLength: 128 },
                    },
                  },
                  volumes: {
                    type: 'array',
                    maxItems: 1000,
                    'x-kubernetes-list-type': 'atomic',
                    items: {
                      type: 'object',
                      required: ['persistentVolume', 'driver'],
                      properties: {
                        persistentVolume: { type: 'string', maxLength: 253 },
                        claim: { type: 'string', maxLength: 253 },
                        driver: { type: 'string', maxLength: 317 },
                        attachedName: { type: 'string', maxLength: 4096 },
                        ephemeral: { type: 'boolean' },
                        multiNode: { type: 'boolean' },
                      },
                    },
                  },
                  phase: { type: 'string', maxLength: 64 },
                  since: { type: 'string', format: 'date-time' },
                },
              },
            },
            failure: {
              type: 'object',
              required: ['time', 'reason', 'message', 'specHash'],
              properties: {
                time: { type: 'string', format: 'date-time' },
                reason: { type: 'string', maxLength: 1024 },
                message: { type: 'string', maxLength: 32768 },
                specHash: { type: 'string', maxLength: 128 },
              },
            },
          },
        },
        blockers: {
          type: 'array',
          maxItems: 10,
          'x-kubernetes-list-type': 'atomic',
          items: {
            type: 'object',
            required: ['pod', 'cause', 'message', 'since'],
            properties: {
              pod: {
                type: 'object',
                required: ['namespace', 'name'],
                properties: {
                  namespace: { type: 'string', maxLength: 253 },
                  name: { type: 'string', maxLength: 253 },
                  uid: { type: 'string', maxLength: 128 },
                },
              },
              cause: { type: 'string', maxLength: 256 },
              message: { type: 'string', maxLength: 32768 },
              budget: {
                type: 'object',
                required: ['name'],
                properties: {
                  name: { type: 'string', maxLength: 253 },
                  needs: { type: 'integer', format: 'int32' },
                  has: { type: 'integer', format: 'int32' },
                },
              },
              since: { type: 'string', format: 'date-time' },
              nextStep: { type: 'string', maxLength: 32768 },
            },
          },
        },
        blockersTotal: { type: 'integer', format: 'int32', minimum: 0 },
        conditions: {
          type: 'array',
          maxItems: 32,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['type'],
          items: {
            type: 'object',
            required: ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
            properties: {
              type: {
                type: 'string',
                maxLength: 316,
                pattern:
                  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
              },
              status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
              observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
              lastTransitionTime: { type: 'string', format: 'date-time' },
              reason: {
                type: 'string',
                minLength: 1,
                maxLength: 1024,
                pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
              },
              message: { type: 'string', maxLength: 32768 },
            },
          },
        },
      },
    },
  },
} as const;
