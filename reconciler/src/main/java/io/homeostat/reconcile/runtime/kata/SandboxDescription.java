package io.homeostat.reconcile.runtime.kata;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import io.homeostat.observe.Observation;
import io.homeostat.observe.SelfDescription;
import io.homeostat.observe.SelfDescription.Section;
import io.homeostat.observe.guest.GuestProbes;
import io.homeostat.observe.guest.GuestText;
import io.homeostat.proto.kata.AgentDetails;
import io.homeostat.proto.kata.GuestDetailsResponse;
import java.util.ArrayList;
import java.util.List;

/** What guests say of themselves, in the words of people and in JSON. */
final class SandboxDescription {
    private static final String NAME = "guest";
    private static final String TITLE = "Guest";
    private static final long MEBIBYTE = 1 << 20;

    private SandboxDescription() {}

    static SelfDescription of(GuestProbes probes) {
        return switch (probes.details()) {
            case Observation.Seen<GuestDetailsResponse>(GuestDetailsResponse details) -> of(details);
            case Observation.Unseen<GuestDetailsResponse>(String why) ->
                new SelfDescription(
                        NAME,
                        JsonNodeFactory.instance.objectNode().put("problem", why),
                        ImmutableList.of(new Section(TITLE, ImmutableList.of(why))));
        };
    }

    private static SelfDescription of(GuestDetailsResponse details) {
        AgentDetails agent = details.getAgentDetails();
        ObjectNode json = JsonNodeFactory.instance
                .objectNode()
                .put("agentVersion", GuestText.of(agent.getVersion()))
                .put("isInit", agent.getInitDaemon())
                .put("seccomp", agent.getSupportsSeccomp())
                .put("memoryBlockBytes", details.getMemBlockSizeBytes());
        List<String> lines = new ArrayList<>();
        lines.add("agent      " + GuestText.of(agent.getVersion())
                + (agent.getInitDaemon() ? ", process 1 of the guest" : ""));
        lines.add("seccomp    " + (agent.getSupportsSeccomp() ? "supported" : "not supported"));
        if (details.getMemBlockSizeBytes() > 0) {
            lines.add("memory     in blocks of " + details.getMemBlockSizeBytes() / MEBIBYTE + " MiB");
        }
        add(json, lines, "storageHandlers", "storages   ", agent.getStorageHandlersList());
        add(json, lines, "deviceHandlers", "devices    ", agent.getDeviceHandlersList());
        add(json, lines, "features", "features   ", agent.getExtraFeaturesList());
        return new SelfDescription(NAME, json, ImmutableList.of(new Section(TITLE, ImmutableList.copyOf(lines))));
    }

    private static void add(ObjectNode json, List<String> lines, String member, String title, List<String> words) {
        List<String> plain = words.stream().map(GuestText::of).toList();
        plain.forEach(json.withArray(member)::add);
        if (!plain.isEmpty()) {
            lines.add(title + String.join(", ", plain));
        }
    }
}
