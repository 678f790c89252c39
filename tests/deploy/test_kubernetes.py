"""The manifests of Kubernetes: of its schemas, restricted, and of times that fit the service's.

SPDX-License-Identifier: Apache-2.0
"""

import deployment
import kubernetes_validate
import pytest


@pytest.mark.parametrize("kind", ["Deployment", "Service", "PodDisruptionBudget"])
@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_they_are_of_the_schemas(kind, version):
    kubernetes_validate.validate(deployment.manifests()[kind], version, strict=True)


def test_they_belong_together():
    found = deployment.manifests()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert deployment.pod()["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"] == labels
    (port,) = deployment.container()["ports"]
    assert found["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    assert deployment.options(deployment.container()["args"])["listen"] == f"0.0.0.0:{port['containerPort']}"
    assert {mount["name"] for mount in deployment.container()["volumeMounts"]} == {
        volume["name"] for volume in deployment.pod()["volumes"]}


def test_pods_are_restricted():
    """What the policy `restricted` of the Pod Security Standards asks for, and more."""
    pod, container = deployment.pod(), deployment.container()
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                            "capabilities": {"drop": ["ALL"]}}
    kinds = {kind for volume in pod["volumes"] for kind in set(volume) - {"name"}}
    assert kinds == {"persistentVolumeClaim", "secret", "emptyDir"}
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)


def test_the_token_comes_from_a_secret():
    assert "Secret" not in deployment.manifests()
    mounts = {mount["name"]: mount["mountPath"] for mount in deployment.container()["volumeMounts"]}
    token_file = deployment.options(deployment.container()["args"])["token_file"]
    (volume,) = [volume for volume in deployment.pod()["volumes"] if "secret" in volume]
    assert token_file == f"{mounts[volume['name']]}/{volume['secret']['items'][0]['path']}"
    assert volume["secret"]["defaultMode"] == 0o440


def test_a_pod_has_the_time_to_drain(seconds):
    container = deployment.container()
    given = deployment.options(container["args"])
    assert not {"drain", "quiet"} & set(given)
    sleep = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert deployment.pod()["terminationGracePeriodSeconds"] > sleep + seconds("drain")
    assert container["readinessProbe"]["periodSeconds"] > seconds("quiet")
    # A pod that is to go is out of the Service before the service closes.
    assert sleep >= container["readinessProbe"]["periodSeconds"] * container["readinessProbe"]["failureThreshold"]


def test_probes():
    container = deployment.container()
    assert {name: container[name]["httpGet"] for name in ["startupProbe", "readinessProbe", "livenessProbe"]} == {
        "startupProbe": {"path": "/readyz", "port": "http"}, "readinessProbe": {"path": "/readyz", "port": "http"},
        "livenessProbe": {"path": "/healthz", "port": "http"}}


def test_lanes_are_the_cores_that_a_pod_asks_for():
    container = deployment.container()
    cores = container["resources"]["requests"]["cpu"]
    assert deployment.options(container["args"])["lanes"] == cores
    assert container["env"] == [{"name": "GOMAXPROCS", "value": cores}]
    assert container["resources"]["requests"]["memory"] == container["resources"]["limits"]["memory"]


def test_a_roll_out_and_a_drain_leave_an_instance():
    spec = deployment.manifests()["Deployment"]["spec"]
    assert spec["replicas"] >= 2 and spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert deployment.manifests()["PodDisruptionBudget"]["spec"]["maxUnavailable"] < spec["replicas"]
