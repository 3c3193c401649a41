CREATE TABLE instance (
  workload  TEXT NOT NULL,
  launch_id TEXT NOT NULL,
  document  TEXT NOT NULL,
  PRIMARY KEY (workload, launch_id)
) STRICT, WITHOUT ROWID;

INSERT INTO instance(workload, launch_id, document)
SELECT workload, launch_id,
  -- The patch leaves out what is null.
  json_patch('{}', json_object(
    'launchId', launch_id,
    'workload', workload,
    'target', target,
    'revision', revision,
    'directory', directory,
    'inputs', json(inputs),
    'launchedAt', launched_at,
    'identity', json(CASE WHEN boot_id IS NOT NULL
      THEN json_object('type', 'process', 'pid', pid, 'startTicks', start_ticks, 'bootId', boot_id) END),
    'phase', CASE start
      WHEN 'NOT_SENT' THEN iif(boot_id IS NULL, 'INTENDED', 'CREATED')
      WHEN 'SENT' THEN 'START_SENT'
      WHEN 'SUCCEEDED' THEN 'STARTED'
      ELSE start END,
    'configHash', config_hash))
FROM handle;

DROP TABLE handle;
