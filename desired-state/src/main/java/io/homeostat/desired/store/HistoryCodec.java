package io.homeostat.desired.store;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Execution;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.yaml.DocumentCodec;
import java.time.Instant;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Histories as stored JSON. Written out by hand: the stored names outlive those of the records, and no reflection delays the
 * start of the program. A part that can't be read is forgotten with a warning, the rest is kept: a history is worth less than
 * the database it is in.
 */
final class HistoryCodec {
    private static final Logger log = LoggerFactory.getLogger(HistoryCodec.class);
    private static final int VERSION = 1;

    private final ObjectMapper json;
    private final StoredDocuments documents;

    HistoryCodec(ObjectMapper json, StoredDocuments documents) {
        this.json = json;
        this.documents = documents;
    }

    String write(WorkloadHistory history) {
        ObjectNode root = json.createObjectNode();
        root.put("version", VERSION);
        root.put("observedGeneration", history.observedGeneration());
        root.set("trial", trial(history.trial()));
        if (history.proven() != null) {
            root.set("proven", proven(history.proven()));
        }
        if (history.failed() != null) {
            root.set("failed", failed(history.failed()));
        }
        root.set("run", run(history.run()));
        if (history.decision() != null) {
            root.set("decision", decision(history.decision()));
        }
        ArrayNode conditions = root.putArray("conditions");
        history.conditions().forEach(condition -> conditions.add(condition(condition)));
        return root.toString();
    }

    WorkloadHistory read(WorkloadId id, String document) {
        JsonNode root;
        try {
            root = json.readTree(document);
        } catch (JsonProcessingException e) {
            log.warn("[{}] the stored history is not JSON; it is forgotten", id);
            return WorkloadHistory.NONE;
        }
        return new WorkloadHistory(
                root.path("observedGeneration").asLong(),
                part(id, root, "trial", HistoryCodec::trial, Trial.NONE),
                part(id, root, "proven", this::proven, null),
                part(id, root, "failed", HistoryCodec::failed, null),
                part(id, root, "run", HistoryCodec::run, RunRecord.NONE),
                part(id, root, "decision", HistoryCodec::decision, null),
                part(id, root, "conditions", HistoryCodec::conditions, ImmutableList.of()));
    }

    private static <T extends @Nullable Object> T part(
            WorkloadId id, JsonNode root, String name, Function<JsonNode, T> reader, T otherwise) {
        JsonNode node = root.path(name);
        if (node.isMissingNode() || node.isNull()) {
            return otherwise;
        }
        try {
            return reader.apply(node);
        } catch (RuntimeException e) {
            // Without the exception: its message may quote the configuration.
            log.warn(
                    "[{}] '{}' of the stored history can't be read ({}); it is forgotten",
                    id,
                    name,
                    e.getClass().getSimpleName());
            return otherwise;
        }
    }

    private ObjectNode trial(Trial trial) {
        ObjectNode node = json.createObjectNode();
        node.put("hash", trial.hash());
        node.set("install", attempts(trial.install()));
        node.set("start", attempts(trial.start()));
        node.set("configure", attempts(trial.configure()));
        node.set("limits", attempts(trial.limits()));
        node.set("upkeep", attempts(trial.upkeep()));
        node.put("restartToConfigure", trial.restartToConfigure());
        node.put("revision", trial.told().revision());
        ArrayNode told = node.putArray("toldFailures");
        trial.told().failures().forEach(told::add);
        return node;
    }

    private static Trial trial(JsonNode node) {
        return new Trial(
                text(node, "hash"),
                attempts(node.path("install")),
                attempts(node.path("start")),
                attempts(node.path("configure")),
                attempts(node.path("limits")),
                attempts(node.path("upkeep")),
                node.path("restartToConfigure").asBoolean(),
                told(node));
    }

    private static Told told(JsonNode node) {
        ImmutableList.Builder<String> failures = ImmutableList.builder();
        node.path("toldFailures").forEach(failure -> failures.add(failure.asText()));
        return new Told(node.path("revision").asText(), failures.build());
    }

    private ObjectNode proven(ProvenRevision proven) {
        ObjectNode node = json.createObjectNode();
        node.put("workload", DocumentCodec.toJson(proven.workload()));
        node.put("hash", proven.hash());
        node.put("directory", proven.directory());
        return node;
    }

    private ProvenRevision proven(JsonNode node) {
        return new ProvenRevision(
                documents.read(text(node, "workload")),
                text(node, "hash"),
                node.path("directory").textValue());
    }

    private ObjectNode failed(FailedRevision failed) {
        ObjectNode node = json.createObjectNode();
        node.put("hash", failed.hash());
        node.put("revision", failed.revision());
        node.put("times", failed.times());
        node.put("at", failed.at().toString());
        node.put("error", failed.error());
        return node;
    }

    private static FailedRevision failed(JsonNode node) {
        return new FailedRevision(
                text(node, "hash"),
                text(node, "revision"),
                node.path("times").asInt(),
                Instant.parse(text(node, "at")),
                text(node, "error"));
    }

    private ObjectNode run(RunRecord run) {
        ObjectNode node = json.createObjectNode();
        node.put("restarts", run.restarts());
        node.set("crashes", attempts(run.crashes()));
        node.set("repairs", attempts(run.repairs()));
        node.put("healthySince", text(run.healthySince()));
        node.put("healthFailures", run.healthFailures());
        node.put("lastHealthFailure", text(run.lastHealthFailure()));
        if (run.lastExit() != null) {
            RunCodec.write(run.lastExit(), node.putObject("lastExit"));
        }
        if (run.oneShot() != null) {
            RunCodec.write(run.oneShot(), node.putObject("oneShot"));
        }
        return node;
    }

    private static RunRecord run(JsonNode node) {
        JsonNode exit = node.path("lastExit");
        JsonNode oneShot = node.path("oneShot");
        return new RunRecord(
                node.path("restarts").asInt(),
                attempts(node.path("crashes")),
                instant(node.path("healthySince")),
                node.path("healthFailures").asInt(),
                instant(node.path("lastHealthFailure")),
                exit.isObject() ? RunCodec.exit(exit) : null,
                attempts(node.path("repairs")),
                oneShot.isObject() ? RunCodec.oneShot(oneShot) : null);
    }

    private ObjectNode attempts(Attempts attempts) {
        ObjectNode node = json.createObjectNode();
        if (!attempts.equals(Attempts.NONE)) {
            node.put("count", attempts.count());
            node.put("last", text(attempts.last()));
            node.put("error", attempts.error());
            node.put("fatal", attempts.fatal());
        }
        return node;
    }

    private static Attempts attempts(JsonNode node) {
        return new Attempts(
                node.path("count").asInt(),
                instant(node.path("last")),
                node.path("error").asText(),
                node.path("fatal").asBoolean());
    }

    private ObjectNode decision(Decision decision) {
        ObjectNode node = json.createObjectNode();
        node.put("state", decision.state().name());
        node.put("why", decision.why());
        node.put("since", decision.since().toString());
        return node;
    }

    private static Decision decision(JsonNode node) {
        return new Decision(
                Execution.State.valueOf(text(node, "state")), text(node, "why"), Instant.parse(text(node, "since")));
    }

    private ObjectNode condition(Condition condition) {
        ObjectNode node = json.createObjectNode();
        node.put("type", condition.type().name());
        node.put("status", condition.status().name());
        node.put("reason", condition.reason().word());
        node.put("message", condition.message());
        node.put("lastTransitionTime", condition.lastTransitionTime().toString());
        return node;
    }

    private static ImmutableList<Condition> conditions(JsonNode node) {
        ImmutableList.Builder<Condition> conditions = ImmutableList.builder();
        for (JsonNode element : node) {
            conditions.add(new Condition(
                    Condition.Type.valueOf(text(element, "type")),
                    Condition.Status.valueOf(text(element, "status")),
                    Reason.ofWord(text(element, "reason")),
                    text(element, "message"),
                    Instant.parse(text(element, "lastTransitionTime"))));
        }
        return conditions.build();
    }

    static String text(JsonNode node, String name) {
        String text = node.path(name).textValue();
        if (text == null) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return text;
    }

    static @Nullable String text(@Nullable Instant instant) {
        return instant == null ? null : instant.toString();
    }

    static @Nullable Instant instant(JsonNode node) {
        String text = node.textValue();
        return text == null ? null : Instant.parse(text);
    }
}
