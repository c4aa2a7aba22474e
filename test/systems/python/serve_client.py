"""Drives the REST API of Serve by Ray's own client and models, and reads /metrics by Prometheus' own parser.

Reads commands as lines of JSON from stdin and answers each by one line.
"""

import json
import os
import sys
import urllib.request

from prometheus_client.parser import text_string_to_metric_families
from ray.dashboard.modules.serve.sdk import ServeSubmissionClient
from ray.serve.schema import ServeDeploySchema, ServeInstanceDetails

address = sys.argv[1]
client = ServeSubmissionClient(address)


def details():
    found = ServeInstanceDetails(**client.get_serve_details())
    return {
        "location": found.proxy_location.value if found.proxy_location else None,
        "proxies": sorted(proxy.status.value for proxy in found.proxies.values()),
        "applications": {
            name: {
                "status": app.status.value,
                "message": app.message,
                "source": app.source.value,
                "route": app.route_prefix,
                "importPath": app.deployed_app_config.import_path if app.deployed_app_config else None,
                "calls": {
                    name: [called["name"] for called in node.outbound_deployments]
                    for name, node in app.deployment_topology.nodes.items()
                }
                if app.deployment_topology
                else None,
                "scaling": {
                    deployment: details.autoscaling_detail.scaling_status.value
                    for deployment, details in app.deployments.items()
                    if details.autoscaling_detail
                },
                "dead": sum(len(details.recent_dead_replicas) for details in app.deployments.values()),
                "deployments": {
                    deployment: [details.status.value, details.target_num_replicas, [replica.state.value for replica in details.replicas]]
                    for deployment, details in app.deployments.items()
                },
            }
            for name, app in found.applications.items()
        },
        "capacity": found.target_capacity,
        "loops": found.controller_health_metrics.num_control_loops,
        "restores": found.restores_unset_config_options,
        "ports": [target.port for group in found.target_groups for target in group.targets],
    }


def deploy(config):
    # Ray's own model, with all defaults written out, as `serve deploy` sends it.
    sent = ServeDeploySchema.model_validate(config).model_dump(exclude_unset=True)
    try:
        client.deploy_applications(json.loads(json.dumps(sent, default=lambda value: value.value)))
        return "taken"
    except RuntimeError as error:
        return str(error)


def metrics():
    request = urllib.request.Request(address + "/metrics", headers={"authorization": "Bearer " + os.environ["RAY_AUTH_TOKEN"]})
    text = urllib.request.urlopen(request).read().decode()
    return sorted({family.name + ":" + family.type for family in text_string_to_metric_families(text)})


for line in sys.stdin:
    command = json.loads(line)
    if command["do"] == "deploy":
        answer = deploy(command["config"])
    elif command["do"] == "delete":
        answer = client.delete_applications()
    else:
        answer = details() if command["do"] == "details" else metrics()
    print(json.dumps(answer), flush=True)
