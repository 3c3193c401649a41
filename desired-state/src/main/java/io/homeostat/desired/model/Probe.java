package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Fields;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import org.jspecify.annotations.Nullable;

/** How to ask a process whether it is well: exactly one of the four. */
public record Probe(
        @Doc("Healthy when a GET is answered with a status from 200 to 399.") @Nullable
        Http http,

        @Doc("Healthy when a connection can be made.") @Nullable
        Tcp tcp,

        @Doc("Healthy when the command exits with 0.") @Nullable
        Exec exec,

        @Doc("Healthy when grpc.health.v1 answers SERVING.") @Nullable
        Grpc grpc) {

    /** Asks over HTTP. */
    public record Http(
            @Doc("An http or https URL.")
            @Matches(value = "https?://[^\\u0000-\\u0020]+", words = "an http or https URL")
            String url) {}

    /** Tries to connect. */
    public record Tcp(
            @Doc("HOST:PORT.")
            @Matches(
                    value = ".+:" + Fields.PORT_OF_OTHERS,
                    words = "HOST:PORT, with a port from 1 to 65535",
                    anyInMessages = true)
            String address) {}

    /** Runs a command. */
    public record Exec(
            @Doc("The program and its arguments; no shell reads them.") @Range(min = 1)
            ImmutableList<String> command,

            @Doc(
                    "Run it as root, not as the workload's user, in / and with nothing of the workload's environment; the default is false. Refused where others than root could change the command or a directory above it.")
            @Nullable
            Boolean asRoot) {
        /** Without a false that says nothing: what was stored before there was such a key keeps its hash, and older versions can read it. */
        public Exec {
            asRoot = Boolean.TRUE.equals(asRoot) ? asRoot : null;
        }

        /** One that runs as the workload's user. */
        public Exec(ImmutableList<String> command) {
            this(command, null);
        }

        /** Whether root runs it, not the workload's user. */
        public boolean isAsRoot() {
            return asRoot != null;
        }
    }

    /** Asks over the standard gRPC health protocol. */
    public record Grpc(
            @Doc("HOST:PORT.")
            @Matches(
                    value = ".+:" + Fields.PORT_OF_OTHERS,
                    words = "HOST:PORT, with a port from 1 to 65535",
                    anyInMessages = true)
            String address,

            @Doc("The service to ask for; empty for the server as a whole.") @Default("")
            String service) {}
}
