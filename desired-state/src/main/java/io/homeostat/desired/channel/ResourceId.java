package io.homeostat.desired.channel;

import io.homeostat.desired.metadata.MetadataServer;
import io.homeostat.desired.metadata.MetadataServer.Answer.Absent;
import io.homeostat.desired.metadata.MetadataServer.Answer.Present;
import io.homeostat.desired.metadata.MetadataServer.Answer.Unreachable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Which machine the agent says it is on; what the metadata server says is remembered, since an instance never becomes another. */
final class ResourceId {
    private final MetadataServer metadata;
    private @Nullable String known;

    /** @param configured null: from the metadata server */
    ResourceId(@Nullable String configured, MetadataServer metadata) {
        this.known = configured;
        this.metadata = metadata;
    }

    /**
     * {@code projects/NUMBER/zones/ZONE/instances/ID}.
     *
     * @throws IOException when the metadata server does not say it
     */
    synchronized String get() throws IOException, InterruptedException {
        String resource = known;
        if (resource == null) {
            String zone = ask(MetadataServer.ZONE);
            resource = "projects/" + ask(MetadataServer.NUMERIC_PROJECT) + "/zones/"
                    + zone.substring(zone.lastIndexOf('/') + 1) + "/instances/" + ask(MetadataServer.INSTANCE_ID);
            known = resource;
        }
        return resource;
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
