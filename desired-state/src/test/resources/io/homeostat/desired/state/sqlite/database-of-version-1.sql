PRAGMA foreign_keys=OFF;
PRAGMA application_id=1213156677;
PRAGMA user_version=1;

CREATE TABLE declaration (
  source   TEXT NOT NULL,
  workload TEXT NOT NULL,
  origin   TEXT NOT NULL,
  hash     TEXT NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (source, workload),
  FOREIGN KEY (source, workload) REFERENCES generation
) STRICT, WITHOUT ROWID;
INSERT INTO "declaration" VALUES('applied','plugin/ops-agent','/etc/a.yaml','013e358b17b58c2e25d86f315ba9d9126a2bb454b337522d5e3efbff5c629ac9','{"apiVersion":"homeostat.io/v1","kind":"Plugin","metadata":{"name":"ops-agent","labels":{"team":"sre"}},"spec":{"revision":"A1","source":{"url":"https://example.org/ops-agent.tar.gz?secret=1","timeout":"1m","attempts":3},"entryPoint":"bin/ops-agent","arguments":["--verbose"],"env":{"FOO":"bar"},"install":"dynamic","limits":{"required":false},"start":{"timeout":"30s","attempts":3,"backoffFactor":2},"stop":{"timeout":"30s"},"health":{"interval":"10s","timeout":"2s","failureThreshold":3},"restart":{"initialDelay":"0s","maxDelay":"5m","resetAfter":"10m","giveUpAfter":0},"metrics":{"interval":"10s","maxDatapoints":60},"execution":{"type":"daemon","bootCritical":false,"default":"enabled","onMatch":"enabled","match":"all","rules":[]},"config":{"string":"password=hunter2"}}}');
CREATE TABLE event (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  time     TEXT NOT NULL,
  workload TEXT,
  revision TEXT NOT NULL,
  type     TEXT NOT NULL,
  message  TEXT NOT NULL
) STRICT;
INSERT INTO "event" VALUES(41,'2026-11-20T12:00:00.123456789Z','plugin/ops-agent','A1','PLUGIN_STARTED','started');
CREATE TABLE generation (
  source   TEXT NOT NULL,
  workload TEXT NOT NULL,
  newest   INTEGER NOT NULL,
  PRIMARY KEY (source, workload)
) STRICT, WITHOUT ROWID;
INSERT INTO "generation" VALUES('applied','plugin/ops-agent',5);
CREATE TABLE handle (
  workload    TEXT NOT NULL,
  launch_id   TEXT NOT NULL,
  target      TEXT NOT NULL,
  revision    TEXT NOT NULL,
  directory   TEXT,
  inputs      TEXT NOT NULL,
  launched_at TEXT NOT NULL,
  pid         INTEGER,
  start_ticks INTEGER,
  boot_id     TEXT,
  start       TEXT NOT NULL,
  config_hash TEXT NOT NULL,
  PRIMARY KEY (workload, launch_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "handle" VALUES('plugin/ops-agent','launch-1','h1','A1','ops-agent_A1','{"arguments":"0a","env":"0b"}','2026-11-20T12:00:00.123456789Z',4711,123456789,'boot','SUCCEEDED','c0');
CREATE TABLE history (
  workload TEXT PRIMARY KEY,
  document TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "history" VALUES('plugin/ops-agent','{"version":1,"observedGeneration":7,"trial":{"hash":"h1","install":{"count":2,"last":"2026-11-20T12:00:00.123456789Z","error":"it failed","fatal":true},"start":{"count":3,"last":"2026-11-20T12:00:00.123456789Z","error":"again","fatal":false},"configure":{"count":2,"last":"2026-11-20T12:00:00.123456789Z","error":"it failed","fatal":true},"limits":{"count":2,"last":"2026-11-20T12:00:00.123456789Z","error":"it failed","fatal":true},"upkeep":{"count":2,"last":"2026-11-20T12:00:00.123456789Z","error":"it failed","fatal":true},"restartToConfigure":true},"proven":{"workload":"{\"apiVersion\":\"homeostat.io/v1\",\"kind\":\"Plugin\",\"metadata\":{\"name\":\"ops-agent\",\"labels\":{\"team\":\"sre\"}},\"spec\":{\"revision\":\"A1\",\"source\":{\"url\":\"https://example.org/ops-agent.tar.gz?secret=1\",\"timeout\":\"1m\",\"attempts\":3},\"entryPoint\":\"bin/ops-agent\",\"arguments\":[\"--verbose\"],\"env\":{\"FOO\":\"bar\"},\"install\":\"dynamic\",\"limits\":{\"required\":false},\"start\":{\"timeout\":\"30s\",\"attempts\":3,\"backoffFactor\":2},\"stop\":{\"timeout\":\"30s\"},\"health\":{\"interval\":\"10s\",\"timeout\":\"2s\",\"failureThreshold\":3},\"restart\":{\"initialDelay\":\"0s\",\"maxDelay\":\"5m\",\"resetAfter\":\"10m\",\"giveUpAfter\":0},\"metrics\":{\"interval\":\"10s\",\"maxDatapoints\":60},\"execution\":{\"type\":\"daemon\",\"bootCritical\":false,\"default\":\"enabled\",\"onMatch\":\"enabled\",\"match\":\"all\",\"rules\":[]},\"config\":{\"string\":\"password=hunter2\"}}}","hash":"h0","directory":"ops-agent_A1"},"failed":{"hash":"h2","revision":"B2","times":3,"at":"2026-11-20T12:00:00.123456789Z","error":"never listened"},"run":{"restarts":4,"crashes":{"count":2,"last":"2026-11-20T12:00:00.123456789Z","error":"it failed","fatal":true},"healthySince":"2026-11-20T12:00:00.123456789Z","healthFailures":2,"lastHealthFailure":"2026-11-20T12:00:00.123456789Z","lastExit":{"code":137,"signal":9,"reason":"OOM_KILLED","at":"2026-11-20T12:00:00.123456789Z"},"repairs":{"count":2,"last":"2026-11-20T12:00:00.123456789Z","error":"it failed","fatal":true}},"conditions":[{"type":"HEALTHY","status":"FALSE","reason":"CheckFailed","message":"does not answer","lastTransitionTime":"2026-11-20T12:00:00.123456789Z"}]}');
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "meta" VALUES('declared','true');
INSERT INTO "meta" VALUES('seed','-123456789');
CREATE TABLE pause (
  workload TEXT PRIMARY KEY,
  reason   TEXT NOT NULL,
  since    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "pause" VALUES('plugin/ops-agent','an upgrade by hand','2026-11-20T12:00:00.123456789Z');
CREATE TABLE source_problem (
  source  TEXT NOT NULL,
  origin  TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (source, origin, message)
) STRICT, WITHOUT ROWID;
INSERT INTO "source_problem" VALUES('files','/etc/bad.yaml','/etc/bad.yaml:3:1: unknown key');
UPDATE sqlite_sequence SET seq = 41;
