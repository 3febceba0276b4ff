# A worker image with tasks of your own. In a folder with mytasks.py and a requirements.txt (which may be empty):
#   docker build -f tasks.Dockerfile -t my-worker:1 .
ARG WORKER_IMAGE=leaseforge-worker:0.1.0

# Your packages join those of the worker, whose versions stay as they are: a requirement that contradicts them fails here.
FROM ${WORKER_IMAGE} AS packages
USER 0:0
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
RUN ["python3", "-m", "venv", "/build/tools"]
COPY requirements.txt ./
# The secret is a pip.conf, for an index that asks for a login.
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    tools/bin/pip --python /opt/leaseforge/bin/python freeze --exclude leaseforge > installed.txt \
    && tools/bin/pip --python /opt/leaseforge/bin/python install --compile --constraint installed.txt -r requirements.txt
USER 10001:10001

FROM ${WORKER_IMAGE}
COPY --from=packages /opt/leaseforge /opt/leaseforge
COPY *.py /tasks/
# The modules the worker is started with; a container's command overrides it.
CMD ["worker", "mytasks"]
