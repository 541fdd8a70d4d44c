# Longhaul in containers; docker-compose.yml combines the images, docs/containers.md explains how to run them.
#
#	made        guest kernels, modules and the agent, built by kmod/sandbox/build.sh and the agent's Makefile
#	page        the web page, with Debian's Node
#	python      the program and its packages in requirements-service.lock
#	runtime     service, scheduler, worker		<- an image
#	postgres    Debian's PostgreSQL, on a socket and no port	<- an image
#	prometheus  Debian's Prometheus with dashboards/*.yml		<- an image
#
#	docker build --target runtime -t longhaul .
#	docker build --target runtime -t longhaul --build-context kernels=FOLDER .	with built kernels in FOLDER/<hash>/
#	docker build --target runtime -t longhaul --build-context kernels=build/parts .	with the release's, from `make parts`
#	docker build --target runtime -t longhaul --build-context built-page=dashboards/web/dist .	with the page of `make web`

ARG BASE=debian:bookworm-slim

# Empty, unless replaced by a build context.
FROM scratch AS kernels
FROM scratch AS built-page

FROM ${BASE} AS made
ARG KERNELS="6.12 6.1"
RUN apt-get update && apt-get install -y --no-install-recommends \
	gcc make flex bison bc xz-utils patch libc6-dev linux-libc-dev \
	$(for kernel in $KERNELS; do echo "linux-source-$kernel"; done) && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY playbooks/containers/kernels.sh containers/
COPY kmod kmod
# Kernels in the builder's cache are found by their hash.
RUN --mount=type=cache,target=/cache --mount=type=bind,from=kernels,target=/found \
	LONGHAUL_CACHE=/cache containers/kernels.sh /found /made/cache $KERNELS
COPY orchestrator/agent orchestrator/agent
RUN make -s -C orchestrator/agent && install -D -t /made/agent orchestrator/agent/build/longhaul-agent

FROM ${BASE} AS page
WORKDIR /source/dashboards/web
COPY playbooks/containers/page.sh /source/containers/
COPY docs/openapi.json /source/docs/
COPY dashboards/web .
# For another package index: --secret id=npm,src=$HOME/.npmrc.
RUN --mount=type=bind,from=built-page,target=/found --mount=type=secret,id=npm \
	NPM_CONFIG_USERCONFIG=/run/secrets/npm /source/containers/page.sh /found /made

FROM ${BASE} AS python
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/longhaul
RUN python3 -m venv .venv
COPY requirements-service.lock .
# For another package index and its credentials: --secret id=pip,src=pip.conf, which is not in the image.
RUN --mount=type=secret,id=pip,target=/etc/pip.conf .venv/bin/pip install --no-cache-dir --require-hashes -r requirements-service.lock
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY kmod kmod
COPY topologies topologies
COPY orchestrator orchestrator
COPY api api
COPY longhaul longhaul
COPY playbooks/containers containers
RUN --mount=type=secret,id=pip,target=/etc/pip.conf .venv/bin/pip install --no-cache-dir --no-deps -e . && containers/slim.sh .venv
COPY --from=made /made/agent orchestrator/agent/build
COPY --from=made /made/cache cache
COPY --from=page /made dashboards/web/dist

FROM ${BASE} AS runtime
LABEL org.opencontainers.image.title="Longhaul" \
	org.opencontainers.image.description="A congestion-control laboratory: real Linux TCP over long fast paths, in virtual time" \
	org.opencontainers.image.version="0.1.0" \
	org.opencontainers.image.licenses="Apache-2.0 AND GPL-2.0-only"
RUN apt-get update && apt-get install -y --no-install-recommends \
	bridge-utils bubblewrap iperf3 iproute2 iputils-ping mininet python3 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* \
	&& groupadd --gid 1000 longhaul && useradd --uid 1000 --gid 1000 --home-dir /tmp --no-create-home longhaul \
	&& install -d -o 1000 -g 1000 /var/longhaul /var/longhaul/home /var/longhaul/cache /var/longhaul/memory \
	&& install -d -o 999 -g 999 /run/postgresql
COPY --from=python /opt/longhaul /opt/longhaul
# Everything is written below /var/longhaul and /tmp. The image's kernels are outside of both.
ENV PATH=/opt/longhaul/.venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	HOME=/tmp MPLCONFIGDIR=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
	LONGHAUL_HOME=/var/longhaul/home LONGHAUL_CACHE=/opt/longhaul/cache LONGHAUL_GUEST_MEMORY=/var/longhaul/memory
WORKDIR /var/longhaul
USER 1000:1000
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
	CMD ["python3", "-I", "-S", "/opt/longhaul/containers/health.py", "service", "8080"]
CMD ["longhaul", "serve", "--host", "0.0.0.0"]

FROM ${BASE} AS postgres
LABEL org.opencontainers.image.title="PostgreSQL for Longhaul"
# Longhaul's user has the same id as in the other image: PostgreSQL identifies the client of its socket by it.
RUN groupadd --gid 1000 longhaul && useradd --uid 1000 --gid 1000 --no-create-home longhaul \
	&& groupadd --gid 999 postgres && useradd --uid 999 --gid 999 --home-dir /var/lib/postgresql postgres \
	&& apt-get update && apt-get install -y --no-install-recommends postgresql-common \
	&& sed -i 's/^#*create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf \
	&& apt-get install -y --no-install-recommends postgresql && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /etc/ssl/private/* \
	&& install -d -o 999 -g 999 /run/postgresql /var/lib/postgresql
COPY playbooks/containers/postgres.sh /opt/longhaul/containers/
USER 999:999
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["pg_isready", "--quiet", "--host=/run/postgresql", "--dbname=longhaul"]
STOPSIGNAL SIGINT
CMD ["/opt/longhaul/containers/postgres.sh"]

FROM ${BASE} AS prometheus
LABEL org.opencontainers.image.title="Prometheus for Longhaul"
RUN groupadd --gid 999 prometheus && useradd --uid 999 --gid 999 --home-dir /var/lib/prometheus --no-create-home prometheus \
	&& apt-get update && apt-get install -y --no-install-recommends prometheus && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* \
	&& install -d -o 999 -g 999 /var/lib/prometheus/data
COPY dashboards/prometheus.yml /etc/longhaul/
COPY dashboards/rules /etc/longhaul/rules
COPY playbooks/containers/scraped.yml /etc/longhaul/targets/service.yml
RUN promtool check config /etc/longhaul/prometheus.yml
USER 999:999
EXPOSE 9090
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["promtool", "query", "instant", "http://127.0.0.1:9090", "vector(1)"]
CMD ["prometheus", "--config.file=/etc/longhaul/prometheus.yml", "--storage.tsdb.path=/var/lib/prometheus/data", \
	"--storage.tsdb.retention.time=90d", "--web.enable-remote-write-receiver"]
