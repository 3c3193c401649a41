package io.homeostat.desired.channel;

import io.homeostat.desired.platform.MetadataServer;
import io.homeostat.desired.platform.MetadataServer.Answer.Absent;
import io.homeostat.desired.platform.MetadataServer.Answer.Present;
import io.homeostat.desired.platform.MetadataServer.Answer.Unreachable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Which machine the agent says it is on; what the metadata server says is remembered, since an instance never becomes another. */
final class ResourceId {
    private static final Logger LOG = LoggerFactory.getLogger(ResourceId.class);

    private final MetadataServer metadata;
    private final String claimed;
    private @Nullable String known;
    private boolean told;

    /**
     * @param configured null: from the metadata server
     * @param claimed the metadata id of the instance whose state is used: for no other one is anything said; empty when it has none
     */
    ResourceId(@Nullable String configured, MetadataServer metadata, String claimed) {
        this.known = configured;
        this.metadata = metadata;
        this.claimed = claimed;
    }

    /**
     * {@code projects/NUMBER/zones/ZONE/instances/ID}.
     *
     * @throws IOException when the metadata server does not say it, or says that this is another instance
     */
    synchronized String get() throws IOException, InterruptedException {
        String resource = known;
        if (resource == null) {
            String zone = ask(MetadataServer.ZONE);
            resource = "projects/" + ask(MetadataServer.NUMERIC_PROJECT) + "/zones/"
                    + zone.substring(zone.lastIndexOf('/') + 1) + "/instances/" + instance();
            known = resource;
        }
        return resource;
    }

    /** A clone that nobody told so while it claimed the state has its source's events to tell. */
    private String instance() throws IOException, InterruptedException {
        String instance = ask(MetadataServer.INSTANCE_ID);
        if (claimed.isEmpty() || claimed.equals(instance)) {
            return instance;
        }
        String words = "this is instance " + instance + ", and the state it goes by is that of instance " + claimed
                + ", of which it is a clone; the control plane is told nothing. Restart the machine: after its next boot"
                + " the agent begins with no state";
        if (!told) {
            LOG.error("{}", words);
            told = true;
        }
        throw new IOException(words);
    }

    private String ask(String path) throws IOException, InterruptedException {
        return switch (metadata.get(path)) {
            case Present(String value) when value.strip().matches("[A-Za-z0-9_./:-]{1,200}") -> value.strip();
            case Present _, Absent _ ->
                throw new IOException("the metadata server has no usable " + path
                        + "; set sources.controlPlane.resource in agent.yaml");
            case Unreachable(String reason) ->
                throw new IOException(
                        reason + "; where there is none, set sources.controlPlane.resource in agent.yaml");
        };
    }
}
