SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.audit (
    id integer NOT NULL,
    at character varying(32) NOT NULL,
    actor character varying(64) NOT NULL,
    address character varying(64) NOT NULL,
    action character varying(64) NOT NULL,
    subject character varying(256) NOT NULL,
    outcome integer NOT NULL,
    request_id character varying(64) NOT NULL
);
CREATE SEQUENCE public.audit_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audit_id_seq OWNED BY public.audit.id;
CREATE TABLE public.baselines (
    name character varying(128) NOT NULL,
    branch character varying(128) NOT NULL,
    experiment_id character varying(32) NOT NULL,
    set_at character varying(32) NOT NULL,
    set_by character varying(64) NOT NULL
);
CREATE TABLE public.counts (
    name character varying(64) NOT NULL,
    value double precision NOT NULL
);
CREATE TABLE public.documents (
    run_id character varying(32) NOT NULL,
    document text NOT NULL
);
CREATE TABLE public.events (
    id integer NOT NULL,
    at character varying(32) NOT NULL,
    kind character varying(32) NOT NULL,
    experiment_id character varying(32),
    run_id character varying(32),
    data text NOT NULL
);
CREATE SEQUENCE public.events_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.events_id_seq OWNED BY public.events.id;
CREATE TABLE public.experiment_runs (
    experiment_id character varying(32) NOT NULL,
    "position" integer NOT NULL,
    run_id character varying(32) NOT NULL,
    cached boolean NOT NULL,
    counted character varying(16)
);
CREATE TABLE public.experiments (
    id character varying(32) NOT NULL,
    name character varying(128) NOT NULL,
    about text NOT NULL,
    owner character varying(64) NOT NULL,
    status character varying(16) NOT NULL,
    priority integer NOT NULL,
    created_at character varying(32) NOT NULL,
    finished_at character varying(32),
    total integer NOT NULL,
    cached integer NOT NULL,
    done integer NOT NULL,
    missed integer NOT NULL,
    failed integer NOT NULL,
    cancelled integer NOT NULL,
    aggregate character varying(16) NOT NULL,
    spec text NOT NULL,
    lint text NOT NULL,
    asked text NOT NULL,
    idempotency_key character varying(128),
    asked_sha256 character varying(64) NOT NULL,
    first_event integer NOT NULL,
    backend character varying(16) DEFAULT ''::character varying NOT NULL,
    controls text DEFAULT ''::text NOT NULL,
    words text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.exporters (
    name character varying(128) NOT NULL,
    at_s double precision NOT NULL,
    oldest_s double precision,
    spool_bytes bigint NOT NULL
);
CREATE TABLE public.leases (
    name character varying(128) NOT NULL,
    holder character varying(128),
    fence integer NOT NULL,
    until_s double precision NOT NULL,
    about text NOT NULL,
    since_s double precision DEFAULT '0'::double precision NOT NULL
);
CREATE TABLE public.measures (
    run_id character varying(32) NOT NULL,
    flow character varying(128) NOT NULL,
    measure character varying(64) NOT NULL,
    value double precision NOT NULL
);
CREATE TABLE public.runs (
    id character varying(32) NOT NULL,
    experiment character varying(128) NOT NULL,
    status character varying(16) NOT NULL,
    backend character varying(16) NOT NULL,
    kernel character varying(64) NOT NULL,
    seed bigint NOT NULL,
    created_at character varying(32) NOT NULL,
    virtual_s double precision NOT NULL,
    wall_s double precision,
    trace_sha256 character varying(64),
    point text NOT NULL,
    measured_by character varying(16),
    owner character varying(64),
    pinned boolean DEFAULT false NOT NULL,
    started_at character varying(32),
    finished_at character varying(32),
    topology character varying(128),
    bandwidth_bps bigint,
    rtt_us bigint,
    utilisation double precision,
    jain double precision,
    controls text DEFAULT ''::text NOT NULL,
    words text DEFAULT ''::text NOT NULL
);
CREATE TABLE public.sessions (
    digest character varying(64) NOT NULL,
    token_id character varying(16) NOT NULL,
    expires_s double precision NOT NULL
);
CREATE TABLE public.spans (
    run_id character varying(32) NOT NULL,
    begin_ms bigint NOT NULL,
    end_ms bigint NOT NULL,
    resolution_ms integer NOT NULL
);
CREATE TABLE public.tokens (
    id character varying(16) NOT NULL,
    name character varying(64) NOT NULL,
    digest character varying(64) NOT NULL,
    scope character varying(8) NOT NULL,
    created_at character varying(32) NOT NULL,
    expires_s double precision,
    revoked_at character varying(32)
);
CREATE TABLE public.work (
    run_id character varying(32) NOT NULL,
    run bytea NOT NULL,
    owner character varying(64) NOT NULL,
    priority integer NOT NULL,
    queued_s double precision NOT NULL,
    "position" integer NOT NULL,
    needs character varying(16) NOT NULL,
    attempts integer NOT NULL,
    fence integer NOT NULL,
    claimed_by character varying(128),
    lease_until_s double precision,
    cancel boolean NOT NULL,
    progress_s double precision NOT NULL
);
CREATE TABLE public.workers (
    name character varying(128) NOT NULL,
    dispatcher character varying(128) NOT NULL,
    machine character varying(128) NOT NULL,
    slots integer NOT NULL,
    needs character varying(64) NOT NULL,
    version character varying(32) NOT NULL,
    since_s double precision NOT NULL,
    at_s double precision NOT NULL
);
ALTER TABLE ONLY public.audit ALTER COLUMN id SET DEFAULT nextval('public.audit_id_seq'::regclass);
ALTER TABLE ONLY public.events ALTER COLUMN id SET DEFAULT nextval('public.events_id_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0006');
INSERT INTO public.audit VALUES (1, '2026-11-23T17:35:27.522+00:00', 'first', '127.0.0.1', 'make_token', '/api/v1/tokens/reader', 201, '6c6b3be52796399c');
INSERT INTO public.audit VALUES (2, '2026-11-23T17:35:27.561+00:00', 'first', '127.0.0.1', 'make_token', '/api/v1/tokens/ada', 201, '1c5e22b80cfb8e1f');
INSERT INTO public.audit VALUES (3, '2026-11-23T17:35:27.570+00:00', 'first', '127.0.0.1', 'make_token', '/api/v1/tokens/ci', 201, '4a9473466ffc5895');
INSERT INTO public.audit VALUES (4, '2026-11-23T17:35:27.587+00:00', 'first', '127.0.0.1', 'make_token', '/api/v1/tokens/gone', 201, '8fa7d8ccedb72a3b');
INSERT INTO public.audit VALUES (5, '2026-11-23T17:35:27.606+00:00', 'first', '127.0.0.1', 'revoke_token', '/api/v1/tokens/gone', 200, 'c23c0bb8ec8e018d');
INSERT INTO public.audit VALUES (6, '2026-11-23T17:35:27.925+00:00', 'ada', '127.0.0.1', 'submit_experiment', '/api/v1/experiments/8719fdc0f5715046', 201, 'fb8ebedc88b45142');
INSERT INTO public.audit VALUES (7, '2026-11-23T17:35:32.275+00:00', 'ada', '127.0.0.1', 'submit_experiment', '/api/v1/experiments/5309185e1d4e5acd', 201, '993ad76924cabe41');
INSERT INTO public.audit VALUES (8, '2026-11-23T17:35:32.419+00:00', 'first', '127.0.0.1', 'send_module', '/api/v1/modules/991e27912b7eec5944f21e679ffc07a9', 200, '3522c7accf2f0f73');
INSERT INTO public.audit VALUES (9, '2026-11-23T17:35:32.527+00:00', 'first', '127.0.0.1', 'submit_experiment', '/api/v1/experiments/4eb9d2cec71a431a', 201, 'fb1a751efdd52f0d');
INSERT INTO public.audit VALUES (10, '2026-11-23T17:35:33.280+00:00', 'first', '127.0.0.1', 'submit_experiment', '/api/v1/experiments/9c39f3679369ab4e', 201, '5117ed6e250a9bc6');
INSERT INTO public.audit VALUES (11, '2026-11-23T17:35:33.751+00:00', 'ci', '127.0.0.1', 'set_baseline', '/api/v1/baselines/former-pair/main', 200, '4a3a200c9974deb4');
INSERT INTO public.audit VALUES (12, '2026-11-23T17:35:33.767+00:00', 'ada', '127.0.0.1', 'set_baseline', '/api/v1/baselines/former-pair/feature/pacing', 200, '8b99c221fa7159be');
INSERT INTO public.audit VALUES (13, '2026-11-23T17:35:33.787+00:00', 'ada', '127.0.0.1', 'pin_run', '/api/v1/runs/12748784cc4f03c85207/pin', 204, '723acc5bc5cecc67');
INSERT INTO public.audit VALUES (14, '2026-11-23T17:35:33.847+00:00', 'ada', '127.0.0.1', 'rerun', '/api/v1/experiments/e45351cf4682c9e4', 201, '76ac81330dcb4e55');
INSERT INTO public.audit VALUES (15, '2026-11-23T17:35:47.703+00:00', 'ada', '127.0.0.1', 'submit_experiment', '/api/v1/experiments/7d69f7c8c6b51c93', 201, '0c7cac5edcbfc1c6');
INSERT INTO public.baselines VALUES ('former-pair', 'main', '8719fdc0f5715046', '2026-11-23T17:35:33.740+00:00', 'ci');
INSERT INTO public.baselines VALUES ('former-pair', 'feature/pacing', '5309185e1d4e5acd', '2026-11-23T17:35:33.757+00:00', 'ada');
INSERT INTO public.counts VALUES ('virtual_s', 3);
INSERT INTO public.counts VALUES ('wall_s', 0.993);
INSERT INTO public.counts VALUES ('guest_deaths', 1);
INSERT INTO public.documents VALUES ('12748784cc4f03c85207', '{"run": "12748784cc4f03c85207", "experiment": "former-pair", "status": "done", "backend": "sandbox", "where": "guest", "clock": "virtual", "kernel": "6.12.117-longhaul", "seed": 1, "point": {"flows.app.cc": "cubic"}, "virtual_s": 1.0, "wall_s": 0.649, "cpu_s": 0.036, "max_rss_kb": 14312, "retries": 0, "trace_sha256": "ef9d25eacb2446841a8b590066e82b0071bdfe561bcb55107e8f47f1af9cbed2", "cached": false, "from_s": 0.0, "to_s": 1.0, "flows": [{"name": "app", "kind": "tcp", "cc": "cubic", "variant": "cubic", "start_s": 0.010234, "stop_s": 1.0, "connected_s": 0.030234, "goodput_bps": 9093834.300228538, "throughput_bps": 9496095.036604611, "goodput_cv": null, "stability_sd_bps": null, "rtt_ms": {"min": 20.0, "mean": 34.19527356746765, "p50": 35.124, "p95": 39.97, "p99": 39.97}, "cwnd_packets": {"mean": 29.139773681598857, "max": 35}, "cwnd_peak_s": 0.191952265, "backoff": 0.6857142857142857, "regrowth_s": null, "retransmits": 2, "loss_ratio": 0.0038510911424903815, "pdr": 0.9961489088575096, "tpp": 9.058813115503654, "bytes": 1138128, "completion_s": null, "rate_error": null, "share": 1.0}], "path": {"throughput_bps": 9424256.0, "utilisation": 0.9424256, "efficiency": 0.9424256, "drops": 3, "losses": 0, "marks": 0, "queue_packets": {"mean": 11.480570315, "p95": 17.0, "max": 17}, "queue_delay_ms": 13.905266765528, "queue_delay_percentiles_ms": {"p50": 14.5344, "p95": 20.5904, "p99": 20.5904}}, "links": [{"name": "bottleneck", "throughput_bps": 9424256.0, "utilisation": 0.9424256, "efficiency": 0.9424256, "drops": 3, "losses": 0, "marks": 0, "queue_packets": {"mean": 11.480570315, "p95": 17.0, "max": 17}, "queue_delay_ms": 13.905266765528, "queue_delay_percentiles_ms": {"p50": 14.5344, "p95": 20.5904, "p99": 20.5904}}], "jain": 1.0, "goodput_total": 9000768.0, "convergence_s": null, "recovery_ratio": null, "fct_mean": null, "fct_p50": null, "fct_p95": null, "fct_p99": null, "fct_max": null, "fidelity": {"ok": true, "checks": [{"name": "trace complete", "ok": true, "text": "741 records, 741 written, with its end"}, {"name": "congestion control in use", "ok": true, "text": "app: asked cubic, found cubic"}, {"name": "sysctls", "ok": true, "text": "22 read back as asked"}, {"name": "devices as asked", "ok": true, "text": "4 devices, 4 queueing disciplines read back"}, {"name": "no frame above the MTU", "ok": true, "text": "largest 1514 bytes, 1514 allowed, offloads off"}, {"name": "conservation", "ok": true, "text": "s1: 1362 in = 1330 out + 3 dropped + 29 waiting"}, {"name": "no drop elsewhere", "ok": true, "text": "none but where the plan has it"}, {"name": "bottleneck rate", "ok": true, "text": "9989141 bit/s over 0.93 s, 10000000 configured"}, {"name": "queue limit", "ok": true, "text": "at most 17 packets waited, 17 may"}, {"name": "random loss", "ok": true, "text": "0 of 783 packets, 0.0 expected"}, {"name": "base RTT", "ok": true, "text": "app: least 20000 us, path 20000 us"}, {"name": "not limited by buffers", "ok": true, "text": "app: 0.00% of its time"}, {"name": "limits have names", "ok": true, "text": "app: for 0.00% of its time neither its window, its receiver''s, its pacing nor its data held it back"}]}, "expect": [{"ok": true, "text": "goodput(app) at least 1 Mbit/s: 9.09383 Mbit/s", "value": 9093834.300228538}], "measured_by": "efa6d239be3e", "identity": {"kernel": "d966d155014f212495f1bf36dce93bc3", "agent": "dc71960feee909803fb5394257f2f74e5fc0f81397ecdfb14962b49e62039397", "lh_trace": "506a309d8f3f2a5e681c5a74a7fa6953b0f30361d1f77b9daeafc3eb4f163b01"}}');
INSERT INTO public.documents VALUES ('15d0c1eab13e048e88bd', '{"run": "15d0c1eab13e048e88bd", "experiment": "former-pair", "status": "done", "backend": "sandbox", "where": "guest", "clock": "virtual", "kernel": "6.12.117-longhaul", "seed": 1, "point": {"flows.app.cc": "reno"}, "virtual_s": 1.0, "wall_s": 0.107, "cpu_s": 0.034, "max_rss_kb": 14312, "retries": 0, "trace_sha256": "098770bcb695943e2cac86f01be908cbae66b82892ea3e76aaf9c7a4ef2318b0", "cached": false, "from_s": 0.0, "to_s": 1.0, "flows": [{"name": "app", "kind": "tcp", "cc": "reno", "variant": "reno", "start_s": 0.010234, "stop_s": 1.0, "connected_s": 0.030234, "goodput_bps": 9082130.523780368, "throughput_bps": 9483857.800732698, "goodput_cv": null, "stability_sd_bps": null, "rtt_ms": {"min": 20.0, "mean": 32.807302120141344, "p50": 33.914, "p95": 39.97, "p99": 41.07}, "cwnd_packets": {"mean": 28.32716390666622, "max": 67}, "cwnd_peak_s": 0.11322426499999999, "backoff": 0.4927505330490405, "regrowth_s": 0.5159712, "retransmits": 37, "loss_ratio": 0.04556650246305416, "pdr": 0.9544334975369458, "tpp": 8.668289600898751, "bytes": 1138128, "completion_s": null, "rate_error": null, "share": 1.0}], "path": {"throughput_bps": 9412144.0, "utilisation": 0.9412144, "efficiency": 0.9412144, "drops": 37, "losses": 0, "marks": 0, "queue_packets": {"mean": 9.554671421, "p95": 17.0, "max": 17}, "queue_delay_ms": 11.5726180251152, "queue_delay_percentiles_ms": {"p50": 12.112, "p95": 20.5904, "p99": 20.5904}}, "links": [{"name": "bottleneck", "throughput_bps": 9412144.0, "utilisation": 0.9412144, "efficiency": 0.9412144, "drops": 37, "losses": 0, "marks": 0, "queue_packets": {"mean": 9.554671421, "p95": 17.0, "max": 17}, "queue_delay_ms": 11.5726180251152, "queue_delay_percentiles_ms": {"p50": 12.112, "p95": 20.5904, "p99": 20.5904}}], "jain": 1.0, "goodput_total": 8989184.0, "convergence_s": null, "recovery_ratio": null, "fct_mean": null, "fct_p50": null, "fct_p95": null, "fct_p99": null, "fct_max": null, "fidelity": {"ok": true, "checks": [{"name": "trace complete", "ok": true, "text": "800 records, 800 written, with its end"}, {"name": "congestion control in use", "ok": true, "text": "app: asked reno, found reno"}, {"name": "sysctls", "ok": true, "text": "22 read back as asked"}, {"name": "devices as asked", "ok": true, "text": "4 devices, 4 queueing disciplines read back"}, {"name": "no frame above the MTU", "ok": true, "text": "largest 1514 bytes, 1514 allowed, offloads off"}, {"name": "conservation", "ok": true, "text": "s1: 1406 in = 1355 out + 37 dropped + 14 waiting"}, {"name": "no drop elsewhere", "ok": true, "text": "none but where the plan has it"}, {"name": "bottleneck rate", "ok": true, "text": "10008337 bit/s over 0.57 s, 10000000 configured"}, {"name": "queue limit", "ok": true, "text": "at most 17 packets waited, 17 may"}, {"name": "random loss", "ok": true, "text": "0 of 816 packets, 0.0 expected"}, {"name": "base RTT", "ok": true, "text": "app: least 20000 us, path 20000 us"}, {"name": "not limited by buffers", "ok": true, "text": "app: 0.00% of its time"}, {"name": "limits have names", "ok": true, "text": "app: for 0.00% of its time neither its window, its receiver''s, its pacing nor its data held it back"}]}, "expect": [{"ok": true, "text": "goodput(app) at least 1 Mbit/s: 9.08213 Mbit/s", "value": 9082130.523780368}], "measured_by": "efa6d239be3e", "identity": {"kernel": "d966d155014f212495f1bf36dce93bc3", "agent": "dc71960feee909803fb5394257f2f74e5fc0f81397ecdfb14962b49e62039397", "lh_trace": "506a309d8f3f2a5e681c5a74a7fa6953b0f30361d1f77b9daeafc3eb4f163b01"}}');
INSERT INTO public.documents VALUES ('5a5bb1398e74a31213ed', '{"run": "5a5bb1398e74a31213ed", "experiment": "former-mine-20", "status": "done", "backend": "sandbox", "where": "guest", "clock": "virtual", "kernel": "6.12.117-longhaul", "seed": 1, "point": {}, "virtual_s": 1.0, "wall_s": 0.237, "cpu_s": 0.059, "max_rss_kb": 27300, "retries": 0, "trace_sha256": "1d1757dc12368828b539eae775ddaf155cde850723e4a9165e0f71a3236c757d", "cached": false, "from_s": 0.0, "to_s": 1.0, "flows": [{"name": "app", "kind": "tcp", "cc": "mine", "variant": "mine", "start_s": 0.010234, "stop_s": 1.0, "connected_s": 0.030234, "goodput_bps": 9175760.735365734, "throughput_bps": 9581755.687708003, "goodput_cv": null, "stability_sd_bps": null, "rtt_ms": {"min": 20.0, "mean": 24.280660550458716, "p50": 24.224, "p95": 24.224, "p99": 33.98515999999993}, "cwnd_packets": {"mean": 20.0, "max": 20}, "cwnd_peak_s": 0.040000262, "backoff": 1.0, "regrowth_s": 0.0, "retransmits": 2, "loss_ratio": 0.002547770700636942, "pdr": 0.9974522292993631, "tpp": 9.152383001008113, "bytes": 1148264, "completion_s": null, "rate_error": null, "share": 1.0}], "path": {"throughput_bps": 9509040.0, "utilisation": 0.950904, "efficiency": 0.950904, "drops": 2, "losses": 0, "marks": 0, "queue_packets": {"mean": 3.103020262, "p95": 4.0, "max": 17}, "queue_delay_ms": 3.7583781413343997, "queue_delay_percentiles_ms": {"p50": 3.6336, "p95": 4.8448, "p99": 4.8448}}, "links": [{"name": "bottleneck", "throughput_bps": 9509040.0, "utilisation": 0.950904, "efficiency": 0.950904, "drops": 2, "losses": 0, "marks": 0, "queue_packets": {"mean": 3.103020262, "p95": 4.0, "max": 17}, "queue_delay_ms": 3.7583781413343997, "queue_delay_percentiles_ms": {"p50": 3.6336, "p95": 4.8448, "p99": 4.8448}}], "jain": 1.0, "goodput_total": 9081856.0, "convergence_s": null, "recovery_ratio": null, "fct_mean": null, "fct_p50": null, "fct_p95": null, "fct_p99": null, "fct_max": null, "fidelity": {"ok": true, "checks": [{"name": "trace complete", "ok": true, "text": "744 records, 744 written, with its end"}, {"name": "congestion control in use", "ok": true, "text": "app: asked mine, found mine"}, {"name": "sysctls", "ok": true, "text": "22 read back as asked"}, {"name": "devices as asked", "ok": true, "text": "4 devices, 4 queueing disciplines read back"}, {"name": "no frame above the MTU", "ok": true, "text": "largest 1514 bytes, 1514 allowed, offloads off"}, {"name": "conservation", "ok": true, "text": "s1: 1359 in = 1341 out + 2 dropped + 16 waiting"}, {"name": "no drop elsewhere", "ok": true, "text": "none but where the plan has it"}, {"name": "bottleneck rate", "ok": true, "text": "9998840 bit/s over 0.94 s, 10000000 configured"}, {"name": "queue limit", "ok": true, "text": "at most 17 packets waited, 17 may"}, {"name": "random loss", "ok": true, "text": "0 of 789 packets, 0.0 expected"}, {"name": "base RTT", "ok": true, "text": "app: least 20000 us, path 20000 us"}, {"name": "not limited by buffers", "ok": true, "text": "app: 0.00% of its time"}, {"name": "limits have names", "ok": true, "text": "app: for 0.00% of its time neither its window, its receiver''s, its pacing nor its data held it back"}]}, "expect": [], "measured_by": "efa6d239be3e", "identity": {"kernel": "d966d155014f212495f1bf36dce93bc3", "agent": "dc71960feee909803fb5394257f2f74e5fc0f81397ecdfb14962b49e62039397", "lh_trace": "506a309d8f3f2a5e681c5a74a7fa6953b0f30361d1f77b9daeafc3eb4f163b01", "tcp_mine": "1da3d9bdfea8a600a48bd8948db0a5c495c7d1c2ec53d2045ca238549229a354"}}');
INSERT INTO public.documents VALUES ('d5a67a94fb7847314144', '{"run": "d5a67a94fb7847314144", "experiment": "former-mine-13", "status": "failed", "backend": "sandbox", "seed": 1, "point": {}, "cached": false, "error": {"error": "GuestDied", "attempting": "running guest", "subject": "former-mine-13", "what": "the guest died (panic): Kernel panic - not syncing: BUG!, in mine_init of tcp_mine.c:18", "hint": "the fault is the module''s, and its log has the calls; `--set kernel=6.12-debug` checks every access to memory; docs/debugging-modules.md; `longhaul log d5a67a94` shows its log"}}');
INSERT INTO public.documents VALUES ('442db216181a6f2dd8c0', '{"run": "442db216181a6f2dd8c0", "experiment": "former-pair", "status": "done", "backend": "sandbox", "where": "guest", "clock": "virtual", "kernel": "6.12.117-longhaul", "seed": 1, "point": {"flows.app.cc": "reno"}, "virtual_s": 1.0, "wall_s": 0.081, "cpu_s": 0.031, "max_rss_kb": 14312, "retries": 0, "trace_sha256": "098770bcb695943e2cac86f01be908cbae66b82892ea3e76aaf9c7a4ef2318b0", "cached": false, "from_s": 0.0, "to_s": 1.0, "flows": [{"name": "app", "kind": "tcp", "cc": "reno", "variant": "reno", "start_s": 0.010234, "stop_s": 1.0, "connected_s": 0.030234, "goodput_bps": 9082130.523780368, "throughput_bps": 9483857.800732698, "goodput_cv": null, "stability_sd_bps": null, "rtt_ms": {"min": 20.0, "mean": 32.807302120141344, "p50": 33.914, "p95": 39.97, "p99": 41.07}, "cwnd_packets": {"mean": 28.32716390666622, "max": 67}, "cwnd_peak_s": 0.11322426499999999, "backoff": 0.4927505330490405, "regrowth_s": 0.5159712, "retransmits": 37, "loss_ratio": 0.04556650246305416, "pdr": 0.9544334975369458, "tpp": 8.668289600898751, "bytes": 1138128, "completion_s": null, "rate_error": null, "share": 1.0}], "path": {"throughput_bps": 9412144.0, "utilisation": 0.9412144, "efficiency": 0.9412144, "drops": 37, "losses": 0, "marks": 0, "queue_packets": {"mean": 9.554671421, "p95": 17.0, "max": 17}, "queue_delay_ms": 11.5726180251152, "queue_delay_percentiles_ms": {"p50": 12.112, "p95": 20.5904, "p99": 20.5904}}, "links": [{"name": "bottleneck", "throughput_bps": 9412144.0, "utilisation": 0.9412144, "efficiency": 0.9412144, "drops": 37, "losses": 0, "marks": 0, "queue_packets": {"mean": 9.554671421, "p95": 17.0, "max": 17}, "queue_delay_ms": 11.5726180251152, "queue_delay_percentiles_ms": {"p50": 12.112, "p95": 20.5904, "p99": 20.5904}}], "jain": 1.0, "goodput_total": 8989184.0, "convergence_s": null, "recovery_ratio": null, "fct_mean": null, "fct_p50": null, "fct_p95": null, "fct_p99": null, "fct_max": null, "fidelity": {"ok": true, "checks": [{"name": "trace complete", "ok": true, "text": "800 records, 800 written, with its end"}, {"name": "congestion control in use", "ok": true, "text": "app: asked reno, found reno"}, {"name": "sysctls", "ok": true, "text": "22 read back as asked"}, {"name": "devices as asked", "ok": true, "text": "4 devices, 4 queueing disciplines read back"}, {"name": "no frame above the MTU", "ok": true, "text": "largest 1514 bytes, 1514 allowed, offloads off"}, {"name": "conservation", "ok": true, "text": "s1: 1406 in = 1355 out + 37 dropped + 14 waiting"}, {"name": "no drop elsewhere", "ok": true, "text": "none but where the plan has it"}, {"name": "bottleneck rate", "ok": true, "text": "10008337 bit/s over 0.57 s, 10000000 configured"}, {"name": "queue limit", "ok": true, "text": "at most 17 packets waited, 17 may"}, {"name": "random loss", "ok": true, "text": "0 of 816 packets, 0.0 expected"}, {"name": "base RTT", "ok": true, "text": "app: least 20000 us, path 20000 us"}, {"name": "not limited by buffers", "ok": true, "text": "app: 0.00% of its time"}, {"name": "limits have names", "ok": true, "text": "app: for 0.00% of its time neither its window, its receiver''s, its pacing nor its data held it back"}]}, "expect": [{"ok": true, "text": "goodput(app) at least 1 Mbit/s: 9.08213 Mbit/s", "value": 9082130.523780368}], "measured_by": "efa6d239be3e", "identity": {"kernel": "d966d155014f212495f1bf36dce93bc3", "agent": "dc71960feee909803fb5394257f2f74e5fc0f81397ecdfb14962b49e62039397", "lh_trace": "506a309d8f3f2a5e681c5a74a7fa6953b0f30361d1f77b9daeafc3eb4f163b01"}, "rerun": {"run": "15d0c1eab13e048e88bd", "identical": true, "trace_sha256": "098770bcb695943e2cac86f01be908cbae66b82892ea3e76aaf9c7a4ef2318b0", "differences": []}}');
INSERT INTO public.events VALUES (1, '2026-11-23T17:35:27.831+00:00', 'experiment.queued', '8719fdc0f5715046', NULL, '{"total": 2, "cached": 0}');
INSERT INTO public.events VALUES (2, '2026-11-23T17:35:27.883+00:00', 'run.queued', NULL, '12748784cc4f03c85207', '{}');
INSERT INTO public.events VALUES (3, '2026-11-23T17:35:27.883+00:00', 'run.queued', NULL, '15d0c1eab13e048e88bd', '{}');
INSERT INTO public.events VALUES (4, '2026-11-23T17:35:30.512+00:00', 'run.started', NULL, '12748784cc4f03c85207', '{"attempt": 1, "by": "lab-3d417d80"}');
INSERT INTO public.events VALUES (5, '2026-11-23T17:35:31.639+00:00', 'run.finished', NULL, '12748784cc4f03c85207', '{"status": "done"}');
INSERT INTO public.events VALUES (6, '2026-11-23T17:35:31.685+00:00', 'run.started', NULL, '15d0c1eab13e048e88bd', '{"attempt": 1, "by": "lab-3d417d80"}');
INSERT INTO public.events VALUES (7, '2026-11-23T17:35:31.956+00:00', 'run.finished', NULL, '15d0c1eab13e048e88bd', '{"status": "done"}');
INSERT INTO public.events VALUES (8, '2026-11-23T17:35:31.986+00:00', 'experiment.finished', '8719fdc0f5715046', NULL, '{"status": "done", "total": 2, "done": 2, "missed": 0, "failed": 0, "cancelled": 0}');
INSERT INTO public.events VALUES (9, '2026-11-23T17:35:32.225+00:00', 'experiment.queued', '5309185e1d4e5acd', NULL, '{"total": 2, "cached": 2}');
INSERT INTO public.events VALUES (10, '2026-11-23T17:35:32.233+00:00', 'experiment.finished', '5309185e1d4e5acd', NULL, '{"status": "done", "total": 2, "done": 2, "missed": 0, "failed": 0, "cancelled": 0}');
INSERT INTO public.events VALUES (11, '2026-11-23T17:35:32.465+00:00', 'experiment.queued', '4eb9d2cec71a431a', NULL, '{"total": 1, "cached": 0}');
INSERT INTO public.events VALUES (12, '2026-11-23T17:35:32.508+00:00', 'run.queued', NULL, '5a5bb1398e74a31213ed', '{}');
INSERT INTO public.events VALUES (13, '2026-11-23T17:35:32.593+00:00', 'run.started', NULL, '5a5bb1398e74a31213ed', '{"attempt": 1, "by": "lab-3d417d80"}');
INSERT INTO public.events VALUES (14, '2026-11-23T17:35:32.932+00:00', 'run.progress', NULL, '5a5bb1398e74a31213ed', '{"virtual_s": 1.0}');
INSERT INTO public.events VALUES (15, '2026-11-23T17:35:33.031+00:00', 'run.finished', NULL, '5a5bb1398e74a31213ed', '{"status": "done"}');
INSERT INTO public.events VALUES (16, '2026-11-23T17:35:33.047+00:00', 'experiment.finished', '4eb9d2cec71a431a', NULL, '{"status": "done", "total": 1, "done": 1, "missed": 0, "failed": 0, "cancelled": 0}');
INSERT INTO public.events VALUES (17, '2026-11-23T17:35:33.240+00:00', 'experiment.queued', '9c39f3679369ab4e', NULL, '{"total": 1, "cached": 0}');
INSERT INTO public.events VALUES (18, '2026-11-23T17:35:33.265+00:00', 'run.queued', NULL, 'd5a67a94fb7847314144', '{}');
INSERT INTO public.events VALUES (19, '2026-11-23T17:35:33.305+00:00', 'run.started', NULL, 'd5a67a94fb7847314144', '{"attempt": 1, "by": "lab-3d417d80"}');
INSERT INTO public.events VALUES (20, '2026-11-23T17:35:33.637+00:00', 'run.finished', NULL, 'd5a67a94fb7847314144', '{"status": "failed", "error": {"error": "GuestDied", "attempting": "running guest", "subject": "former-mine-13", "what": "the guest died (panic): Kernel panic - not syncing: BUG!, in mine_init of tcp_mine.c:18", "hint": "the fault is the module''s, and its log has the calls; `--set kernel=6.12-debug` checks every access to memory; docs/debugging-modules.md; `longhaul log d5a67a94` shows its log"}}');
INSERT INTO public.events VALUES (21, '2026-11-23T17:35:33.660+00:00', 'experiment.finished', '9c39f3679369ab4e', NULL, '{"status": "failed", "total": 1, "done": 0, "missed": 0, "failed": 1, "cancelled": 0}');
INSERT INTO public.events VALUES (22, '2026-11-23T17:35:33.806+00:00', 'experiment.queued', 'e45351cf4682c9e4', NULL, '{"total": 1, "cached": 0}');
INSERT INTO public.events VALUES (23, '2026-11-23T17:35:33.837+00:00', 'run.queued', NULL, '442db216181a6f2dd8c0', '{}');
INSERT INTO public.events VALUES (24, '2026-11-23T17:35:33.924+00:00', 'run.started', NULL, '442db216181a6f2dd8c0', '{"attempt": 1, "by": "lab-3d417d80"}');
INSERT INTO public.events VALUES (25, '2026-11-23T17:35:34.155+00:00', 'run.finished', NULL, '442db216181a6f2dd8c0', '{"status": "done"}');
INSERT INTO public.events VALUES (26, '2026-11-23T17:35:34.164+00:00', 'experiment.finished', 'e45351cf4682c9e4', NULL, '{"status": "done", "total": 1, "done": 1, "missed": 0, "failed": 0, "cancelled": 0}');
INSERT INTO public.events VALUES (27, '2026-11-23T17:35:47.634+00:00', 'experiment.queued', '7d69f7c8c6b51c93', NULL, '{"total": 2, "cached": 0}');
INSERT INTO public.events VALUES (28, '2026-11-23T17:35:47.676+00:00', 'run.queued', NULL, '0c434dd7429211716365', '{}');
INSERT INTO public.events VALUES (29, '2026-11-23T17:35:47.676+00:00', 'run.queued', NULL, '601a6bf6132d694796b4', '{}');
INSERT INTO public.experiment_runs VALUES ('8719fdc0f5715046', 0, '12748784cc4f03c85207', false, 'done');
INSERT INTO public.experiment_runs VALUES ('8719fdc0f5715046', 1, '15d0c1eab13e048e88bd', false, 'done');
INSERT INTO public.experiment_runs VALUES ('5309185e1d4e5acd', 0, '12748784cc4f03c85207', true, 'done');
INSERT INTO public.experiment_runs VALUES ('5309185e1d4e5acd', 1, '15d0c1eab13e048e88bd', true, 'done');
INSERT INTO public.experiment_runs VALUES ('4eb9d2cec71a431a', 0, '5a5bb1398e74a31213ed', false, 'done');
INSERT INTO public.experiment_runs VALUES ('9c39f3679369ab4e', 0, 'd5a67a94fb7847314144', false, 'failed');
INSERT INTO public.experiment_runs VALUES ('e45351cf4682c9e4', 0, '442db216181a6f2dd8c0', false, 'done');
INSERT INTO public.experiment_runs VALUES ('7d69f7c8c6b51c93', 0, '0c434dd7429211716365', false, NULL);
INSERT INTO public.experiment_runs VALUES ('7d69f7c8c6b51c93', 1, '601a6bf6132d694796b4', false, NULL);
INSERT INTO public.experiments VALUES ('5309185e1d4e5acd', 'former-pair', 'Two congestion controls on a slow path.', 'ada', 'done', 0, '2026-11-23T17:35:32.219+00:00', '2026-11-23T17:35:32.232+00:00', 2, 2, 2, 0, 0, 0, 'mean', '{"experiment": "former-pair", "about": "Two congestion controls on a slow path.", "topology": "dumbbell", "params": {}, "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "mtu": 1500, "queue": "droptail", "ecn": false}, "links": {}, "flows": [{"name": "app", "cc": "cubic", "params": {}, "count": 1, "start": "0 s", "tool": "lh-flow", "sack": true, "recovery": "rack", "initial_window": 10, "delayed_ack": true}], "modules": [], "schedule": [], "duration": "1 s", "phases": {}, "repeats": 1, "aggregate": "mean", "seed": 1, "sample": "every-ack", "kernel": "6.12", "start_jitter": "1 RTT", "sweep": {"flows.app.cc": ["cubic", "reno"]}, "expect": [{"measure": "goodput", "flow": "app", "at_least": "1 Mbit/s"}]}', '["summaries begin at 0 s, inside slow start (about 0.06 s): a longer warmup leaves it out (at flows.app.cc=cubic and 1 more points)"]', '{"shipped": null, "changes": [], "backend": "sandbox", "where": null, "clock": null, "hosts": [], "seed": null, "repeats": null, "priority": 0}', 'nightly', '13c426f9300255c0dac62c6dc455e2f30a296eef822ee9bc562e783e79c4a68d', 8, 'sandbox', 'cubic reno', ' 5309185e1d4e5acd former-pair owner=ada backend=sandbox cc=cubic cc=reno topology=dumbbell bandwidth=10mbit/s rtt=20ms two congestion controls on a slow path. ');
INSERT INTO public.experiments VALUES ('8719fdc0f5715046', 'former-pair', 'Two congestion controls on a slow path.', 'ada', 'done', 0, '2026-11-23T17:35:27.815+00:00', '2026-11-23T17:35:31.977+00:00', 2, 0, 2, 0, 0, 0, 'mean', '{"experiment": "former-pair", "about": "Two congestion controls on a slow path.", "topology": "dumbbell", "params": {}, "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "mtu": 1500, "queue": "droptail", "ecn": false}, "links": {}, "flows": [{"name": "app", "cc": "cubic", "params": {}, "count": 1, "start": "0 s", "tool": "lh-flow", "sack": true, "recovery": "rack", "initial_window": 10, "delayed_ack": true}], "modules": [], "schedule": [], "duration": "1 s", "phases": {}, "repeats": 1, "aggregate": "mean", "seed": 1, "sample": "every-ack", "kernel": "6.12", "start_jitter": "1 RTT", "sweep": {"flows.app.cc": ["cubic", "reno"]}, "expect": [{"measure": "goodput", "flow": "app", "at_least": "1 Mbit/s"}]}', '["summaries begin at 0 s, inside slow start (about 0.06 s): a longer warmup leaves it out (at flows.app.cc=cubic and 1 more points)"]', '{"shipped": null, "changes": [], "backend": "sandbox", "where": null, "clock": null, "hosts": [], "seed": null, "repeats": null, "priority": 0}', NULL, '13c426f9300255c0dac62c6dc455e2f30a296eef822ee9bc562e783e79c4a68d', 0, 'sandbox', 'cubic reno', ' 8719fdc0f5715046 former-pair owner=ada backend=sandbox cc=cubic cc=reno topology=dumbbell bandwidth=10mbit/s rtt=20ms two congestion controls on a slow path. ');
INSERT INTO public.experiments VALUES ('4eb9d2cec71a431a', 'former-mine-20', 'Two congestion controls on a slow path.', 'first', 'done', 0, '2026-11-23T17:35:32.461+00:00', '2026-11-23T17:35:33.043+00:00', 1, 0, 1, 0, 0, 0, 'mean', '{"experiment": "former-mine-20", "about": "Two congestion controls on a slow path.", "topology": "dumbbell", "params": {}, "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "mtu": 1500, "queue": "droptail", "ecn": false}, "links": {}, "flows": [{"name": "app", "cc": "mine", "params": {"cwnd": "20 packets"}, "count": 1, "start": "0 s", "tool": "lh-flow", "sack": true, "recovery": "rack", "initial_window": 10, "delayed_ack": true}], "modules": ["sha256:991e27912b7eec5944f21e679ffc07a9"], "schedule": [], "duration": "1 s", "phases": {}, "repeats": 1, "aggregate": "mean", "seed": 1, "sample": "every-ack", "kernel": "6.12", "start_jitter": "1 RTT", "expect": []}', '["summaries begin at 0 s, inside slow start (about 0.06 s): a longer warmup leaves it out"]', '{"shipped": null, "changes": [], "backend": "sandbox", "where": null, "clock": null, "hosts": [], "seed": null, "repeats": null, "priority": 0}', NULL, '3a9a7c6e861fa361ab5d3c12283709b9fcc174ad4c854c52ece0a64ad586a277', 10, 'sandbox', 'mine', ' 4eb9d2cec71a431a former-mine-20 owner=first backend=sandbox cc=mine topology=dumbbell bandwidth=10mbit/s rtt=20ms two congestion controls on a slow path. ');
INSERT INTO public.experiments VALUES ('9c39f3679369ab4e', 'former-mine-13', 'Two congestion controls on a slow path.', 'first', 'failed', 0, '2026-11-23T17:35:33.236+00:00', '2026-11-23T17:35:33.647+00:00', 1, 0, 0, 0, 1, 0, 'mean', '{"experiment": "former-mine-13", "about": "Two congestion controls on a slow path.", "topology": "dumbbell", "params": {}, "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "mtu": 1500, "queue": "droptail", "ecn": false}, "links": {}, "flows": [{"name": "app", "cc": "mine", "params": {"cwnd": "13 packets"}, "count": 1, "start": "0 s", "tool": "lh-flow", "sack": true, "recovery": "rack", "initial_window": 10, "delayed_ack": true}], "modules": ["sha256:991e27912b7eec5944f21e679ffc07a9"], "schedule": [], "duration": "1 s", "phases": {}, "repeats": 1, "aggregate": "mean", "seed": 1, "sample": "every-ack", "kernel": "6.12", "start_jitter": "1 RTT", "expect": []}', '["summaries begin at 0 s, inside slow start (about 0.06 s): a longer warmup leaves it out"]', '{"shipped": null, "changes": [], "backend": "sandbox", "where": null, "clock": null, "hosts": [], "seed": null, "repeats": null, "priority": 0}', NULL, '4fc3a03d536a2f281ec4dd38ed9f137898199e9b23723ff72e72a0c934ddd4ca', 16, 'sandbox', 'mine', ' 9c39f3679369ab4e former-mine-13 owner=first backend=sandbox cc=mine topology=dumbbell bandwidth=10mbit/s rtt=20ms two congestion controls on a slow path. ');
INSERT INTO public.experiments VALUES ('e45351cf4682c9e4', 'former-pair', 'Run 15d0c1eab13e048e88bd once more: is every byte of its trace the same?', 'ada', 'done', 0, '2026-11-23T17:35:33.805+00:00', '2026-11-23T17:35:34.159+00:00', 1, 0, 1, 0, 0, 0, 'mean', '{"experiment": "former-pair", "about": "Two congestion controls on a slow path.", "topology": "dumbbell", "params": {}, "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "mtu": 1500, "queue": "droptail", "ecn": false}, "links": {}, "flows": [{"name": "app", "cc": "cubic", "params": {}, "count": 1, "start": "0 s", "tool": "lh-flow", "sack": true, "recovery": "rack", "initial_window": 10, "delayed_ack": true}], "modules": [], "schedule": [], "duration": "1 s", "phases": {}, "repeats": 1, "aggregate": "mean", "seed": 1, "sample": "every-ack", "kernel": "6.12", "start_jitter": "1 RTT", "sweep": {"flows.app.cc": ["cubic", "reno"]}, "expect": [{"measure": "goodput", "flow": "app", "at_least": "1 Mbit/s"}]}', '[]', '{"rerun_of": "15d0c1eab13e048e88bd"}', NULL, '7b67ab8f97b0327bc4f8e40c5bcbb6c54f1b8250f200aaf76f38c93924f3d70c', 21, 'sandbox', 'reno', ' e45351cf4682c9e4 rerun=15d0c1eab13e048e88bd former-pair owner=ada backend=sandbox cc=reno topology=dumbbell bandwidth=10mbit/s rtt=20ms run 15d0c1eab13e048e88bd once more: is every byte of its trace the same? ');
INSERT INTO public.experiments VALUES ('7d69f7c8c6b51c93', 'former-pair', 'Two congestion controls on a slow path.', 'ada', 'queued', 0, '2026-11-23T17:35:47.631+00:00', NULL, 2, 0, 0, 0, 0, 0, 'mean', '{"experiment": "former-pair", "about": "Two congestion controls on a slow path.", "topology": "dumbbell", "params": {}, "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP", "mtu": 1500, "queue": "droptail", "ecn": false}, "links": {}, "flows": [{"name": "app", "cc": "cubic", "params": {}, "count": 1, "start": "0 s", "tool": "lh-flow", "sack": true, "recovery": "rack", "initial_window": 10, "delayed_ack": true}], "modules": [], "schedule": [], "duration": "1 s", "phases": {}, "repeats": 1, "aggregate": "mean", "seed": 3, "sample": "every-ack", "kernel": "6.12", "start_jitter": "1 RTT", "sweep": {"flows.app.cc": ["cubic", "reno"]}, "expect": [{"measure": "goodput", "flow": "app", "at_least": "1 Mbit/s"}]}', '["summaries begin at 0 s, inside slow start (about 0.06 s): a longer warmup leaves it out (at flows.app.cc=cubic and 1 more points)"]', '{"shipped": null, "changes": [], "backend": "sandbox", "where": null, "clock": null, "hosts": [], "seed": 3, "repeats": null, "priority": 0}', NULL, '212ce49bb88ff0ad83a6d709232dbac85d8798cc5241125436142d3713c8ced1', 26, 'sandbox', 'cubic reno', ' 7d69f7c8c6b51c93 former-pair owner=ada backend=sandbox cc=cubic cc=reno topology=dumbbell bandwidth=10mbit/s rtt=20ms two congestion controls on a slow path. ');
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'start_s', 0.010234);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'stop_s', 1);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'connected_s', 0.030234);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'goodput_bps', 9093834.300228538);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'throughput_bps', 9496095.036604611);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'rtt_ms.min', 20);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'rtt_ms.mean', 34.19527356746765);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'rtt_ms.p50', 35.124);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'rtt_ms.p95', 39.97);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'rtt_ms.p99', 39.97);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'cwnd_packets.mean', 29.139773681598857);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'cwnd_packets.max', 35);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'cwnd_peak_s', 0.191952265);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'backoff', 0.6857142857142857);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'retransmits', 2);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'loss_ratio', 0.0038510911424903815);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'pdr', 0.9961489088575096);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'tpp', 9.058813115503654);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'bytes', 1138128);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', 'app', 'share', 1);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'throughput_bps', 9424256);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'utilisation', 0.9424256);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'efficiency', 0.9424256);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'drops', 3);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'losses', 0);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'marks', 0);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'queue_packets.mean', 11.480570315);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'queue_packets.p95', 17);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'queue_packets.max', 17);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'queue_delay_ms', 13.905266765528);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'queue_delay_percentiles_ms.p50', 14.5344);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'queue_delay_percentiles_ms.p95', 20.5904);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'queue_delay_percentiles_ms.p99', 20.5904);
INSERT INTO public.measures VALUES ('12748784cc4f03c85207', '', 'jain', 1);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'start_s', 0.010234);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'stop_s', 1);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'connected_s', 0.030234);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'goodput_bps', 9082130.523780368);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'throughput_bps', 9483857.800732698);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'rtt_ms.min', 20);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'rtt_ms.mean', 32.807302120141344);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'rtt_ms.p50', 33.914);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'rtt_ms.p95', 39.97);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'rtt_ms.p99', 41.07);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'cwnd_packets.mean', 28.32716390666622);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'cwnd_packets.max', 67);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'cwnd_peak_s', 0.11322426499999999);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'backoff', 0.4927505330490405);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'regrowth_s', 0.5159712);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'retransmits', 37);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'loss_ratio', 0.04556650246305416);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'pdr', 0.9544334975369458);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'tpp', 8.668289600898751);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'bytes', 1138128);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', 'app', 'share', 1);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'throughput_bps', 9412144);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'utilisation', 0.9412144);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'efficiency', 0.9412144);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'drops', 37);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'losses', 0);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'marks', 0);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'queue_packets.mean', 9.554671421);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'queue_packets.p95', 17);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'queue_packets.max', 17);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'queue_delay_ms', 11.5726180251152);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'queue_delay_percentiles_ms.p50', 12.112);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'queue_delay_percentiles_ms.p95', 20.5904);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'queue_delay_percentiles_ms.p99', 20.5904);
INSERT INTO public.measures VALUES ('15d0c1eab13e048e88bd', '', 'jain', 1);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'start_s', 0.010234);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'stop_s', 1);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'connected_s', 0.030234);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'goodput_bps', 9175760.735365734);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'throughput_bps', 9581755.687708003);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'rtt_ms.min', 20);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'rtt_ms.mean', 24.280660550458716);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'rtt_ms.p50', 24.224);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'rtt_ms.p95', 24.224);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'rtt_ms.p99', 33.98515999999993);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'cwnd_packets.mean', 20);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'cwnd_packets.max', 20);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'cwnd_peak_s', 0.040000262);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'backoff', 1);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'regrowth_s', 0);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'retransmits', 2);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'loss_ratio', 0.002547770700636942);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'pdr', 0.9974522292993631);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'tpp', 9.152383001008113);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'bytes', 1148264);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', 'app', 'share', 1);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'throughput_bps', 9509040);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'utilisation', 0.950904);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'efficiency', 0.950904);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'drops', 2);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'losses', 0);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'marks', 0);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'queue_packets.mean', 3.103020262);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'queue_packets.p95', 4);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'queue_packets.max', 17);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'queue_delay_ms', 3.7583781413343997);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'queue_delay_percentiles_ms.p50', 3.6336);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'queue_delay_percentiles_ms.p95', 4.8448);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'queue_delay_percentiles_ms.p99', 4.8448);
INSERT INTO public.measures VALUES ('5a5bb1398e74a31213ed', '', 'jain', 1);
INSERT INTO public.runs VALUES ('15d0c1eab13e048e88bd', 'former-pair', 'done', 'sandbox', '6.12.117-longhaul', 1, '2026-11-23T17:35:27.860+00:00', 1, 0.107, '098770bcb695943e2cac86f01be908cbae66b82892ea3e76aaf9c7a4ef2318b0', '{"flows.app.cc": "reno"}', 'efa6d239be3e', 'ada', false, '2026-11-23T17:35:31.684+00:00', '2026-11-23T17:35:31.897+00:00', 'dumbbell', 10000000, 20000, 0.9412144, 1, 'reno', ' 15d0c1eab13e048e88bd former-pair owner=ada backend=sandbox cc=reno topology=dumbbell bandwidth=10mbit/s rtt=20ms kernel=6.12 seed=1 flows.app.cc=reno reno app ');
INSERT INTO public.runs VALUES ('5a5bb1398e74a31213ed', 'former-mine-20', 'done', 'sandbox', '6.12.117-longhaul', 1, '2026-11-23T17:35:32.485+00:00', 1, 0.237, '1d1757dc12368828b539eae775ddaf155cde850723e4a9165e0f71a3236c757d', '{}', 'efa6d239be3e', 'first', false, '2026-11-23T17:35:32.592+00:00', '2026-11-23T17:35:32.977+00:00', 'dumbbell', 10000000, 20000, 0.950904, 1, 'mine', ' 5a5bb1398e74a31213ed former-mine-20 owner=first backend=sandbox cc=mine topology=dumbbell bandwidth=10mbit/s rtt=20ms kernel=6.12 seed=1 mine app ');
INSERT INTO public.runs VALUES ('d5a67a94fb7847314144', 'former-mine-13', 'failed', 'sandbox', '6.12', 1, '2026-11-23T17:35:33.257+00:00', 1, NULL, NULL, '{}', NULL, 'first', false, '2026-11-23T17:35:33.300+00:00', '2026-11-23T17:35:33.623+00:00', 'dumbbell', 10000000, 20000, NULL, NULL, 'mine', ' d5a67a94fb7847314144 former-mine-13 owner=first backend=sandbox cc=mine topology=dumbbell bandwidth=10mbit/s rtt=20ms kernel=6.12 seed=1 mine app ');
INSERT INTO public.runs VALUES ('12748784cc4f03c85207', 'former-pair', 'done', 'sandbox', '6.12.117-longhaul', 1, '2026-11-23T17:35:27.860+00:00', 1, 0.649, 'ef9d25eacb2446841a8b590066e82b0071bdfe561bcb55107e8f47f1af9cbed2', '{"flows.app.cc": "cubic"}', 'efa6d239be3e', 'ada', true, '2026-11-23T17:35:30.507+00:00', '2026-11-23T17:35:31.589+00:00', 'dumbbell', 10000000, 20000, 0.9424256, 1, 'cubic', ' 12748784cc4f03c85207 former-pair owner=ada backend=sandbox cc=cubic topology=dumbbell bandwidth=10mbit/s rtt=20ms kernel=6.12 seed=1 flows.app.cc=cubic cubic app ');
INSERT INTO public.runs VALUES ('442db216181a6f2dd8c0', 'former-pair', 'done', 'sandbox', '6.12', 1, '2026-11-23T17:35:33.825+00:00', 1, NULL, NULL, '{"flows.app.cc": "reno"}', NULL, 'ada', false, '2026-11-23T17:35:33.923+00:00', '2026-11-23T17:35:34.148+00:00', 'dumbbell', 10000000, 20000, NULL, NULL, 'reno', ' 442db216181a6f2dd8c0 rerun=15d0c1eab13e048e88bd former-pair owner=ada backend=sandbox cc=reno topology=dumbbell bandwidth=10mbit/s rtt=20ms kernel=6.12 seed=1 flows.app.cc=reno reno app ');
INSERT INTO public.runs VALUES ('0c434dd7429211716365', 'former-pair', 'queued', 'sandbox', '6.12', 3, '2026-11-23T17:35:47.657+00:00', 1, NULL, NULL, '{"flows.app.cc": "cubic"}', NULL, 'ada', false, NULL, NULL, 'dumbbell', 10000000, 20000, NULL, NULL, 'cubic', ' 0c434dd7429211716365 former-pair owner=ada backend=sandbox cc=cubic topology=dumbbell bandwidth=10mbit/s rtt=20ms kernel=6.12 seed=3 flows.app.cc=cubic cubic app ');
INSERT INTO public.runs VALUES ('601a6bf6132d694796b4', 'former-pair', 'queued', 'sandbox', '6.12', 3, '2026-11-23T17:35:47.657+00:00', 1, NULL, NULL, '{"flows.app.cc": "reno"}', NULL, 'ada', false, NULL, NULL, 'dumbbell', 10000000, 20000, NULL, NULL, 'reno', ' 601a6bf6132d694796b4 former-pair owner=ada backend=sandbox cc=reno topology=dumbbell bandwidth=10mbit/s rtt=20ms kernel=6.12 seed=3 flows.app.cc=reno reno app ');
INSERT INTO public.tokens VALUES ('26e9a44d03a6', 'first', '3086ac22896adcf13901f9f26576f5bab34c38096ab1fb62c19cdc996e480697', 'admin', '2026-11-23T17:35:26.602+00:00', NULL, NULL);
INSERT INTO public.tokens VALUES ('005dd2afe895', 'reader', '74a818377bd162812ad5008945c7db91357cb9242228016c018fb10b5ac57ab8', 'read', '2026-11-23T17:35:27.517+00:00', NULL, NULL);
INSERT INTO public.tokens VALUES ('e7d1f5017530', 'ada', '9d1122ea6a45fb105fdb41c1cca5d125b91e8a42a77fbe2757c04eded5c0e53c', 'run', '2026-11-23T17:35:27.526+00:00', NULL, NULL);
INSERT INTO public.tokens VALUES ('cf757c2fcf0b', 'ci', '723a44b20e8a35e9d0c70b84bdeeb454010b69221adfe4dda255cdcf9a4e08b3', 'gate', '2026-11-23T17:35:27.565+00:00', NULL, NULL);
INSERT INTO public.tokens VALUES ('acba2a4610bb', 'gone', '214d36aa97361aca01084da5ffcbb48677e5a591b26eedac88a6d610778947a9', 'run', '2026-11-23T17:35:27.573+00:00', NULL, '2026-11-23T17:35:27.598+00:00');
INSERT INTO public.work VALUES ('0c434dd7429211716365', '\x7801ed584b6fe33610fe2b824e2db04944597ee558f45aa028f666040225d1361b49d492949d20c87fef3743c96f6fb1400f3d6c1220d27038eff938d4476cfb367e8e3ee2b5b18df478145fa258bd75caea46b544e025651f3aa96d8cc54296afaaad68c5c9b62acc1b515f956d554dc4d9a34889e29422a6091e3ba35914d4d466ef1e65d73d962531977da1cbf8133c556fa5d7a6cd7b870591f00fe87bdd56661fa8abe4cbb8f282a54635c6bee74d411bd20528eedd95be2601ab55dc2affa4bb5df6e4cb2e072f192592f9649e89459a41d08dc718724f76f6d50fec24935a532956ff11b7b251e4a2131c35abab0dbd7bdbab734b5fe0fe91bd38675fcbda5df09fd8479eb506ce79ab4b973bb953ece5851bc4e6914fe765d339e2486f700c9176a5ac75bbb927a78187c894ca6db92bfaf53d368744e7d0677d2ed75ed95c57f55ddb1c4aea9e2055b6f70cb6aa343b65dfef6db543d2b364398b66e95264d3c3ff5bfe9fb26762994d922c1afedf606f8d77e8901c8ea27110d3798a9a8d5fced3297fa6f3ac0f8774224e678d4615fa7f4d27f5f55edbb1af817d6387a3158e1d5ea95d7879082ddc4846b8247d4e92933fae075955904762dabeae21bff13d5ec43401c2c5df2aedca41c72be08fc4228801c1b6c05c741248e299aaae9376c0696b0cd761ad1bcd481e30942456aa96ef794b32076425eadfda53673299de5f95ea7263d1dfe01b81a736cee56937494123a60d4017e246d2607fd577b52e09164e584b636ddff95392552cff94349c13f36c9aa5593a9f66936c369d4e181447ef7dc14073f43dbdf05d3c735c19980a40dc999f456f9dcf8b77cf2914330ef2214af3334ddd5aaf0dc5f5a86b72a12b0dba4e045085146a1b52b58a2f530eb0651d7438c0b238d4c7502f85780827c49d7ae1b3f4582f38c11ee9573c89199979a7705e3e83caeb620d80342897df532e9e938b621d95a7ffa69c0fb43bdd110cb8e52d145e78fbb33b86ee108958a6b3c96c29e6d3d97c31fdfc5ec971e2a80288a9557ab32d0c5a00a5b7c29c31a4e5761ddc2834aeb2db5896d2e4761479bbaeaf457292ef148088d96a6bfad0ad57167b432d74e802e0129cdc69794a25926eb52ff70c9e226199986a5e872068c25442b371482b8cf7b56a559843c61885c6bc04f66fbdeab98f0330dcc61cd3aa7c0fcc3d4eb3d0c63b73068ebca331da3352cd2f9646a44aa7f3c9824d07e4f675388028a73c4587745e7982d99adc3f2067c9afa7d3365677d26a19a6fb308193506b1a0a62288c10e690d1eb0c322e74c61e8e19ec0fc35ef077b148974c32dd4904187747e786d6361d0dfd14868fb8916f14160c9f79c070cad03095963546d70386d30252b6cd077ce3c30ab5385e3a0446b7e53c9da78be56c99cde96a800bce5e5acafb0a2e0e98eb041dd61452bad5f0da018fb18650842672e55651068883b8bd9525bd7cc4d8163c2493bc1edff8942583e82a55529850c88d92aeb75c3a1b63aaaee7e39a9289f578485c783bde7fb6685f2c0fe1f2ea8def64c3fe5fb0e9d748faa886681f89e88f42fb27177a08ea5a1ae4d94c20006ffcba375169da0dee02883b3d7a6b6a17e1594634b4479df4db472a216f3a539bcd3b1957f54d51a8ba267a810964af2b44ffeaa4b5de8768d0284c1119a27e5204205a85a9dda973e2d941b6b6b83c1db22da622c3b60683c8583d22cb28a905ee672329c5f0c47501daade662372cea4deae046bf5e63fa19232aa2df7eff93dd0bf40b11b8ea10f751195a1306c8cdc6aa0de61e924e01e7bbec7eab8634f78833092d6bc3f505a4b2be9735b339940667e7bbf76df91fa60ec3a26cb8d9a83629d3acff9051f242246315810509255a9a44d886f71006661be37596b80336562791a6997f182849ed88c31ff472026523160f8d700159e7a697a667f8a2af150c3c645212b18dde18fe10516f1fb8b7882574f770f73e5c34b0078dcc574f3a2eb4acf300379026a896786e56557edc7e0b8e2fd161fc9411c2c436755be918bfd969ab3a2503f643c9750d91c5c7af270ec817267eea9bf787c1e21b5f5cf8ba1da6faa0fbafaf5f296b6e8fc91e94abef2fabe1030c78708b303ca7fe3864495c82097f82ce0304517aadc207a6dcacb14408f6f90f8a5355db', 'ada', 0, 1795455347.6573963, 0, 'sandbox', 0, 0, NULL, NULL, false, 0);
INSERT INTO public.work VALUES ('601a6bf6132d694796b4', '\x7801ed584b6fe33610fe2b824e2db04944597ee558f45aa028f666040225d1361b49d492949d20c87fef3743c96f6fb1400f3d6c1220d27038eff938d4476cfb367e8e3ee2b5b18df478145fa258bd75caea46b544e025651f3aa96d8cc54296afaaad68c5c9b62acc1b515f956d554dc4d9a34889e29422a6091e3ba35914d4d466ef1e65d73d9625315bd59af8132c556fa5d7a6cd7b07ba48f807f4bd6e2bb30fd455f2655c79c152a31a63dff3a6a00de90214f7ee4a5f9380d52a6e957fd2dd2e7bf2659783976c12c97c32cfc422cd20e8c6630cb9273bfbea07769249ada914abff885bd928f2d0090e9ad5d586debdedd5b9a52f70ffc85e9cb3af65ed2ef84fec23cf5a03e7bcd5a5cb9ddc29f6f2c20d62f348a7f3b2e91c71a437388648bb52d6badddc93d3c043644ae5b6dc15fdfa1e9b439e73e8b33e976baf6caeabfaae6d0e15754f902adb7b065b559a9db2eff7b6da21e959b29c45b37429b2e9e1ff2dff4fd933b1cc2649160dff6fb0b7c63b34480e47d13788e93c45cdc62fe7e9943fd379d687433a11a7b346a30afdbfa693fa7aafedd8d780beb1c3d10ac70eafd42ebc3c84166e24035c923e27c9c91fd783ac2ac823316d5fd790dff81e2f629a00e1e26f9576e5a0e315f0476211c480605b402e3a0924f14c55d7494028c3b43586ebb0d68d66200f184a122b55cbf7bc259903b212f56feda933994cefaf4a75b9b1e86ff08dc0531be7f2b49ba4a011d306a00b712369b0bfeabb5a97040b27aca5b1b6effc29c92a967f4a1a8e897936cdd22c9d4fb349369b4e270c8aa3f7be60a039fa9e5ef82e9e39ae0c4c0520eecccfa2b7cee7c5bbe7148a1907f910a5f999a66eadd786e27ad435b9d095065d2702a8420ab50da95ac5972907d8b20e3a1c60591cea63a897423c8413e24ebdf0517aac179c608ff42b9ec48cccbc53382f9f41e575b106401a94cbef2917cfc945b18ecad37f53ce07da9dee0806dcf2160a2fbcfdd91d437788442cd3d964b614f3e96cbe987e7eafe438715401c4d42abdd916062d80d25b61ce18d272bb0e6e141a57d96d2c4b69723b8abc5dd7d72239c9770a40c46cb5357de8d62b8bbda1163a740170094eeeb43ca51249b7da977b064f91b04c4c35af431034612aa1d938a415c6fb5ab52acc21638c42635e02fbb75ef5dcc701186e638e6955be07e61ea75968e39d390347ded114ed19a9e6174b2352a5d3f964c1a60372fb3a1c4094531ea2433aaf3cc1684dee1f90b3e4d793611b8b3b69b51c0e0d9abf49a4350d853094450872c8e775fe18153a630f870cf687512f78bb58a44b2699eec47f46ddd1b5a1b14d47233f05e1236ee41b0505a3671e109cf233cca4658dc1f580e0b480846df301ddf8a842258e370e81c16d394fe7e962395b6673ba18e076b39796b2be828b03e23a4147350594ae34bc764063ac2114a1855cb955147fe2206e6f65492f1f31b6050fc924afc7373e63c920ba479514269471a3a4eb2d17cec698aaebf9b0a654623d1ed216de8eb79f2d9a17cb43b8bc7ae3937ed8ff0b36fd1a491fd510ed2311fd5168ffe44207415d4b633c9b89fee78d5ff7262a4dbbc14d0071a7476f4ded223ccb8846f6a8937efb4805e14d676ab37927e3aabe290a55d7442f307fec7585e85f9db3d6fb100d1a84292243d44f8a0044ab30b33b754e3c3bc6d61657a743b6c55464d8d6600c19ab47641925b5c0ed6c24a5189db82e40bbd55aec8645bd491ddce8d76bcc3e634445f4dbef7fb27b817e2102171de23e2a4363c200b9d958b5c1d443d229e07c93dd6fd590e61e7126a1656db8be8053d6f7b2663687d2e0ec7cf7b22dffc3d46154940d371bd526659af51f324a5e8864ac22b020a1444b9308dbf01ec2c06c63bcce127740c6ea24d234f10fe324a91d51f8835e4e806c44e2a1110260957da14bd27c6e7a697a462ffa54c1c043262511dbe88de1af10f5f6817b8b5842770f37efc335037bd0c87cf1a4c342cb3a0f700369826a89a76655e5c7edb7c0f8121dc60f19214c6c53b7958ed19b9db6aa5332203f945cd710597cfc74e2807c61dea7be797f182cbef1b9852fdb61a60fbafffafa9562e7f698eb41b9faf8b28a0ff1e5cf303432fe3864495c81097f82ce0304912cabf07529376b2c11827dfe03b63c54e5', 'ada', 0, 1795455347.6573963, 1, 'sandbox', 0, 0, NULL, NULL, false, 0);
SELECT pg_catalog.setval('public.audit_id_seq', 15, true);
SELECT pg_catalog.setval('public.events_id_seq', 29, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.baselines
    ADD CONSTRAINT baselines_pkey PRIMARY KEY (name, branch);
ALTER TABLE ONLY public.counts
    ADD CONSTRAINT counts_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (run_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.experiment_runs
    ADD CONSTRAINT experiment_runs_pkey PRIMARY KEY (experiment_id, "position");
ALTER TABLE ONLY public.experiments
    ADD CONSTRAINT experiments_asked_once UNIQUE (owner, idempotency_key);
ALTER TABLE ONLY public.experiments
    ADD CONSTRAINT experiments_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.exporters
    ADD CONSTRAINT exporters_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.measures
    ADD CONSTRAINT measures_pkey PRIMARY KEY (run_id, flow, measure);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY public.spans
    ADD CONSTRAINT spans_pkey PRIMARY KEY (run_id);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.work
    ADD CONSTRAINT work_pkey PRIMARY KEY (run_id);
ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (name);
CREATE INDEX events_of_experiment ON public.events USING btree (experiment_id, id);
CREATE INDEX events_of_run ON public.events USING btree (run_id, id);
CREATE INDEX experiments_by_time ON public.experiments USING btree (created_at, id, words);
CREATE INDEX experiments_of_run ON public.experiment_runs USING btree (run_id);
CREATE INDEX runs_by_end ON public.runs USING btree (finished_at);
CREATE INDEX runs_by_experiment ON public.runs USING btree (experiment, created_at, id, words);
CREATE INDEX runs_by_pin ON public.runs USING btree (pinned, created_at);
CREATE INDEX runs_by_status ON public.runs USING btree (status, created_at, id, words);
CREATE INDEX runs_by_time ON public.runs USING btree (created_at, id, words);
CREATE INDEX spans_in_time ON public.spans USING btree (end_ms);
CREATE INDEX tokens_by_name ON public.tokens USING btree (name);
CREATE INDEX work_in_order ON public.work USING btree (claimed_by, priority, queued_s);
ALTER TABLE ONLY public.baselines
    ADD CONSTRAINT baselines_experiment_id_fkey FOREIGN KEY (experiment_id) REFERENCES public.experiments(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.experiment_runs
    ADD CONSTRAINT experiment_runs_experiment_id_fkey FOREIGN KEY (experiment_id) REFERENCES public.experiments(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.measures
    ADD CONSTRAINT measures_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_token_id_fkey FOREIGN KEY (token_id) REFERENCES public.tokens(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.work
    ADD CONSTRAINT work_run_id_fkey FOREIGN KEY (run_id) REFERENCES public.runs(id) ON DELETE CASCADE;
