DROP TABLE IF EXISTS received_message;
