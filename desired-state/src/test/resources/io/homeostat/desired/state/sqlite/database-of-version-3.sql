PRAGMA foreign_keys=OFF;
PRAGMA application_id=1213156677;
PRAGMA user_version=3;
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('declared','true');
INSERT INTO meta VALUES('seed','-6589067535847010035');
CREATE TABLE generation (
  source   TEXT NOT NULL,
  workload TEXT NOT NULL,
  newest   INTEGER NOT NULL,
  PRIMARY KEY (source, workload)
) STRICT, WITHOUT ROWID;
INSERT INTO generation VALUES('applied','plugin/greeter',2);
INSERT INTO generation VALUES('applied','process/web',1);
CREATE TABLE declaration (
  source   TEXT NOT NULL,
  workload TEXT NOT NULL,
  origin   TEXT NOT NULL,
  hash     TEXT NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (source, workload),
  FOREIGN KEY (source, workload) REFERENCES generation
) STRICT, WITHOUT ROWID;
INSERT INTO declaration VALUES('applied','plugin/greeter','/srv/w.yaml','cda519523db2cfa03b3a5e7ca7b5bb562015c3bfe8fd72ac6bb5d688a2ce4a7a','{"apiVersion":"homeostat.io/v1","kind":"Plugin","metadata":{"name":"greeter","labels":{}},"spec":{"revision":"1","source":{"url":"file:///srv/greeter.tar.gz","sha256":"424ea2e3e233cc298db4a6644d2553e08ea95193bc1c0c1504ab606a626dfe2c","timeout":"1m","attempts":3},"entryPoint":"bin/greeter","arguments":[],"env":{},"install":"dynamic","limits":{"required":false,"oomGroup":false},"start":{"timeout":"30s","attempts":3,"backoffFactor":2},"stop":{"timeout":"30s"},"health":{"interval":"10s","timeout":"2s","failureThreshold":3},"restart":{"initialDelay":"0s","maxDelay":"5m","resetAfter":"10m","giveUpAfter":0},"metrics":{"interval":"10s","maxDatapoints":60},"execution":{"type":"daemon","bootCritical":false,"default":"enabled","onMatch":"enabled","match":"all","rules":[]},"dependsOn":[],"config":{"string":"hello"}}}');
INSERT INTO declaration VALUES('applied','process/web','/srv/w.yaml','8ba135739ee07c8be532ffb6274ab7c19320a407639e750581ae6e686466e259','{"apiVersion":"homeostat.io/v1","kind":"Process","metadata":{"name":"web","labels":{}},"spec":{"revision":"local","entryPoint":"/bin/sleep","arguments":["100000"],"env":{},"install":"local","limits":{"required":false,"oomGroup":false},"start":{"timeout":"30s","attempts":3,"backoffFactor":2},"stop":{"timeout":"30s"},"health":{"interval":"10s","timeout":"2s","failureThreshold":3},"restart":{"initialDelay":"0s","maxDelay":"5m","resetAfter":"10m","giveUpAfter":0},"metrics":{"interval":"10s","maxDatapoints":60},"execution":{"type":"daemon","bootCritical":false,"default":"enabled","onMatch":"enabled","match":"all","rules":[]},"dependsOn":[]}}');
CREATE TABLE source_problem (
  source  TEXT NOT NULL,
  origin  TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (source, origin, message)
) STRICT, WITHOUT ROWID;
CREATE TABLE pause (
  workload TEXT PRIMARY KEY,
  reason   TEXT NOT NULL,
  since    TEXT NOT NULL
, stopped INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE TABLE history (
  workload TEXT PRIMARY KEY,
  document TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO history VALUES('plugin/greeter','{"version":1,"observedGeneration":2,"trial":{"hash":"cda519523db2cfa03b3a5e7ca7b5bb562015c3bfe8fd72ac6bb5d688a2ce4a7a","install":{},"start":{},"configure":{},"limits":{},"upkeep":{},"restartToConfigure":false,"revision":"1","toldFailures":[]},"proven":{"workload":"{\"apiVersion\":\"homeostat.io/v1\",\"kind\":\"Plugin\",\"metadata\":{\"name\":\"greeter\",\"labels\":{}},\"spec\":{\"revision\":\"1\",\"source\":{\"url\":\"file:///srv/greeter.tar.gz\",\"sha256\":\"424ea2e3e233cc298db4a6644d2553e08ea95193bc1c0c1504ab606a626dfe2c\",\"timeout\":\"1m\",\"attempts\":3},\"entryPoint\":\"bin/greeter\",\"arguments\":[],\"env\":{},\"install\":\"dynamic\",\"limits\":{\"required\":false,\"oomGroup\":false},\"start\":{\"timeout\":\"30s\",\"attempts\":3,\"backoffFactor\":2},\"stop\":{\"timeout\":\"30s\"},\"health\":{\"interval\":\"10s\",\"timeout\":\"2s\",\"failureThreshold\":3},\"restart\":{\"initialDelay\":\"0s\",\"maxDelay\":\"5m\",\"resetAfter\":\"10m\",\"giveUpAfter\":0},\"metrics\":{\"interval\":\"10s\",\"maxDatapoints\":60},\"execution\":{\"type\":\"daemon\",\"bootCritical\":false,\"default\":\"enabled\",\"onMatch\":\"enabled\",\"match\":\"all\",\"rules\":[]},\"dependsOn\":[],\"config\":{\"string\":\"hello\"}}}","hash":"cda519523db2cfa03b3a5e7ca7b5bb562015c3bfe8fd72ac6bb5d688a2ce4a7a","directory":"greeter_1"},"run":{"restarts":0,"crashes":{},"repairs":{},"healthySince":"2026-11-22T11:25:59.899Z","healthFailures":0,"lastHealthFailure":null},"decision":{"state":"ENABLED","why":"","since":"2026-11-22T11:25:33.304Z"},"conditions":[{"type":"CONVERGED","status":"TRUE","reason":"AtDesiredState","message":"","lastTransitionTime":"2026-11-22T11:25:59.899Z"},{"type":"HEALTHY","status":"TRUE","reason":"Healthy","message":"","lastTransitionTime":"2026-11-22T11:25:59.899Z"},{"type":"PAUSED","status":"FALSE","reason":"NotPaused","message":"","lastTransitionTime":"2026-11-22T11:25:33.304Z"},{"type":"GIVEN_UP","status":"FALSE","reason":"Trying","message":"","lastTransitionTime":"2026-11-22T11:25:33.304Z"},{"type":"ROLLED_BACK","status":"FALSE","reason":"NoFailedUpgrade","message":"","lastTransitionTime":"2026-11-22T11:25:33.304Z"}]}');
INSERT INTO history VALUES('process/web','{"version":1,"observedGeneration":1,"trial":{"hash":"8ba135739ee07c8be532ffb6274ab7c19320a407639e750581ae6e686466e259","install":{},"start":{},"configure":{},"limits":{},"upkeep":{},"restartToConfigure":false,"revision":"local","toldFailures":[]},"proven":{"workload":"{\"apiVersion\":\"homeostat.io/v1\",\"kind\":\"Process\",\"metadata\":{\"name\":\"web\",\"labels\":{}},\"spec\":{\"revision\":\"local\",\"entryPoint\":\"/bin/sleep\",\"arguments\":[\"100000\"],\"env\":{},\"install\":\"local\",\"limits\":{\"required\":false,\"oomGroup\":false},\"start\":{\"timeout\":\"30s\",\"attempts\":3,\"backoffFactor\":2},\"stop\":{\"timeout\":\"30s\"},\"health\":{\"interval\":\"10s\",\"timeout\":\"2s\",\"failureThreshold\":3},\"restart\":{\"initialDelay\":\"0s\",\"maxDelay\":\"5m\",\"resetAfter\":\"10m\",\"giveUpAfter\":0},\"metrics\":{\"interval\":\"10s\",\"maxDatapoints\":60},\"execution\":{\"type\":\"daemon\",\"bootCritical\":false,\"default\":\"enabled\",\"onMatch\":\"enabled\",\"match\":\"all\",\"rules\":[]},\"dependsOn\":[]}}","hash":"8ba135739ee07c8be532ffb6274ab7c19320a407639e750581ae6e686466e259","directory":null},"run":{"restarts":0,"crashes":{},"repairs":{},"healthySince":"2026-11-22T11:25:34.572Z","healthFailures":0,"lastHealthFailure":null},"decision":{"state":"ENABLED","why":"","since":"2026-11-22T11:25:33.303Z"},"conditions":[{"type":"CONVERGED","status":"TRUE","reason":"AtDesiredState","message":"","lastTransitionTime":"2026-11-22T11:25:34.572Z"},{"type":"HEALTHY","status":"TRUE","reason":"Healthy","message":"","lastTransitionTime":"2026-11-22T11:25:34.572Z"},{"type":"PAUSED","status":"FALSE","reason":"NotPaused","message":"","lastTransitionTime":"2026-11-22T11:25:33.303Z"},{"type":"GIVEN_UP","status":"FALSE","reason":"Trying","message":"","lastTransitionTime":"2026-11-22T11:25:33.303Z"},{"type":"ROLLED_BACK","status":"FALSE","reason":"NoFailedUpgrade","message":"","lastTransitionTime":"2026-11-22T11:25:33.303Z"}]}');
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
INSERT INTO handle VALUES('plugin/greeter','4a880506-ce8e-498b-a644-294b1867237c','cda519523db2cfa03b3a5e7ca7b5bb562015c3bfe8fd72ac6bb5d688a2ce4a7a','1','greeter_1','{"arguments":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","entryPoint":"1bc40dd2e4fe6a466a1eb5a2807dbb73b3e54166a3ee8d30d624f6fbc5d996dc","environment":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","user":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}','2026-11-22T11:25:56.872Z',20995,333858,'802d7b16-ba13-4347-b0df-6b36b0ac6743','SUCCEEDED','2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824');
INSERT INTO handle VALUES('process/web','49ad2b56-1149-445d-96ca-7d21eff613ca','8ba135739ee07c8be532ffb6274ab7c19320a407639e750581ae6e686466e259','local',NULL,'{"arguments":"b9eab8f27954dc8706f561de721c01246da731195182292b5a21dacb35d37747","entryPoint":"e033c99c254013ef6943b932694539c65763e9b3ee192e1fb3a70825373d31f4","environment":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","user":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}','2026-11-22T11:25:33.335Z',19711,331516,'802d7b16-ba13-4347-b0df-6b36b0ac6743','SUCCEEDED','');
CREATE TABLE event (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  time     TEXT NOT NULL,
  workload TEXT,
  revision TEXT NOT NULL,
  type     TEXT NOT NULL,
  message  TEXT NOT NULL
) STRICT;
INSERT INTO event VALUES(1,'2026-11-22T11:25:33.304Z','plugin/greeter','1','PLUGIN_CONFIG_INSTALL','declared by applied');
INSERT INTO event VALUES(2,'2026-11-22T11:25:33.303Z','process/web','local','PLUGIN_CONFIG_INSTALL','declared by applied');
INSERT INTO event VALUES(3,'2026-11-22T11:25:33.765Z','plugin/greeter','1','PLUGIN_INSTALL_FAILED','unpacking revision 1 of plugin/greeter failed: the entry point ''greeter'' is not in the archive; executable are bin/greeter');
INSERT INTO event VALUES(4,'2026-11-22T11:25:34.572Z','process/web','local','PLUGIN_STARTED','pid 19711');
INSERT INTO event VALUES(5,'2026-11-22T11:25:34.572Z','process/web','local','PLUGIN_INSTALLED','');
INSERT INTO event VALUES(6,'2026-11-22T11:25:56.245Z','plugin/greeter','1','PLUGIN_CONFIG_INSTALL','declared by applied');
INSERT INTO event VALUES(7,'2026-11-22T11:25:59.645Z','plugin/greeter','1','PLUGIN_STARTED','');
INSERT INTO event VALUES(8,'2026-11-22T11:25:59.899Z','plugin/greeter','1','PLUGIN_INSTALLED','');
CREATE TABLE received_message (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  digest TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE outbox (
  event    INTEGER PRIMARY KEY,
  workload TEXT NOT NULL
) STRICT;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('event',8);
CREATE INDEX outbox_of_workload ON outbox (workload, event);
