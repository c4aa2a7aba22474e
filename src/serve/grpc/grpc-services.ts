/** Services that every gRPC front offers beside the user's: gRPC's health check, and Ray's API of Serve. Their definitions, as protobufjs reads them. */

const text = (id: number): object => ({ type: "string", id });

/** `grpc.health.v1.Health` and `ray.serve.RayServeAPIService`. */
export const OWN_SERVICES: object = {
  nested: {
    grpc: {
      nested: {
        health: {
          nested: {
            v1: {
              nested: {
                HealthCheckRequest: { fields: { service: text(1) } },
                HealthCheckResponse: {
                  fields: { status: { type: "ServingStatus", id: 1 } },
                  nested: { ServingStatus: { values: { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } } },
                },
                Health: { methods: { Check: { requestType: "HealthCheckRequest", responseType: "HealthCheckResponse" } } },
              },
            },
          },
        },
      },
    },
    ray: {
      nested: {
        serve: {
          nested: {
            ListApplicationsRequest: { fields: {} },
            ListApplicationsResponse: { fields: { applicationNames: { rule: "repeated", type: "string", id: 1 } } },
            HealthzRequest: { fields: {} },
            HealthzResponse: { fields: { message: text(1) } },
            RayServeAPIService: {
              methods: {
                ListApplications: { requestType: "ListApplicationsRequest", responseType: "ListApplicationsResponse" },
                Healthz: { requestType: "HealthzRequest", responseType: "HealthzResponse" },
              },
            },
          },
        },
      },
    },
  },
};

export const HEALTH_SERVICE = "grpc.health.v1.Health";
export const RAY_SERVICE = "ray.serve.RayServeAPIService";
