/**
 * Services that every gRPC front offers beside the user's: gRPC's health check, Ray's API of Serve, and gRPC's reflection, as texts of `.proto` files.
 *
 * Names and numbers are those of the published protocols, so that any client speaks them. `grpc-front.ts` and `reflection.ts` decide the
 * answers. Data alone.
 */
import type { LoadedService } from "./proto-files.ts";

const service = (name: string, main: string, text: string): LoadedService => ({ service: name, main, files: { [main]: text } });

export const HEALTH_SERVICE: LoadedService = service(
  "grpc.health.v1.Health",
  "grpc/health/v1/health.proto",
  `syntax = "proto3";
package grpc.health.v1;
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse {
  enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
  ServingStatus status = 1;
}
service Health {
  rpc Check(HealthCheckRequest) returns (HealthCheckResponse);
  rpc Watch(HealthCheckRequest) returns (stream HealthCheckResponse);
}
`,
);

export const RAY_SERVICE: LoadedService = service(
  "ray.serve.RayServeAPIService",
  "ray/serve/api.proto",
  `syntax = "proto3";
package ray.serve;
message ListApplicationsRequest {}
message ListApplicationsResponse { repeated string application_names = 1; }
message HealthzRequest {}
message HealthzResponse { string message = 1; }
service RayServeAPIService {
  rpc ListApplications(ListApplicationsRequest) returns (ListApplicationsResponse);
  rpc Healthz(HealthzRequest) returns (HealthzResponse);
}
`,
);

/** The same protocol under two names: tools ask for `v1` first, and older ones for `v1alpha` alone. */
export const REFLECTION_SERVICES: readonly LoadedService[] = ["v1", "v1alpha"].map((version) =>
  service(
    `grpc.reflection.${version}.ServerReflection`,
    `grpc/reflection/${version}/reflection.proto`,
    `syntax = "proto3";
package grpc.reflection.${version};
message ServerReflectionRequest {
  string host = 1;
  oneof message_request {
    string file_by_filename = 3;
    string file_containing_symbol = 4;
    ExtensionRequest file_containing_extension = 5;
    string all_extension_numbers_of_type = 6;
    string list_services = 7;
  }
}
message ExtensionRequest { string containing_type = 1; int32 extension_number = 2; }
message ServerReflectionResponse {
  string valid_host = 1;
  ServerReflectionRequest original_request = 2;
  oneof message_response {
    FileDescriptorResponse file_descriptor_response = 4;
    ExtensionNumberResponse all_extension_numbers_response = 5;
    ListServiceResponse list_services_response = 6;
    ErrorResponse error_response = 7;
  }
}
message FileDescriptorResponse { repeated bytes file_descriptor_proto = 1; }
message ExtensionNumberResponse { string base_type_name = 1; repeated int32 extension_number = 2; }
message ListServiceResponse { repeated ServiceResponse service = 1; }
message ServiceResponse { string name = 1; }
message ErrorResponse { int32 error_code = 1; string error_message = 2; }
service ServerReflection { rpc ServerReflectionInfo(stream ServerReflectionRequest) returns (stream ServerReflectionResponse); }
`,
  ),
);

/** A service of the user's may not have the name of one of these. */
export const OWN_SERVICES: readonly LoadedService[] = [HEALTH_SERVICE, RAY_SERVICE, ...REFLECTION_SERVICES];
