"""All rules every manifest of deploy/kubernetes keeps to."""

from tests.deploy import kubernetes_availability, kubernetes_network, kubernetes_pods, kubernetes_secrets
from tests.deploy.kubernetes_rules import EVERYWHERE, IN_PRODUCTION

FILES = (kubernetes_pods, kubernetes_availability, kubernetes_network, kubernetes_secrets)

__all__ = ["EVERYWHERE", "FILES", "IN_PRODUCTION"]
