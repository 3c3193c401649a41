package io.homeostat.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.Caller;
import io.homeostat.controlplane.FakeControlPlane;
import io.homeostat.controlplane.FakeMetadataServer;
import io.homeostat.controlplane.TestAuthority;
import io.homeostat.controlplane.TestAuthority.Issued;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The built program connects as it would on a virtual machine: TLS, a certificate of its own, and who it is from the metadata server. */
final class ConnectionTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Test
    void anAgentShowsItsCertificateAndTheTokenOfTheMetadataServerAndNoSecretIsLeftAnywhere() throws Exception {
        TestAuthority authority = new TestAuthority("the control plane's");
        TestAuthority clients = new TestAuthority("the agents'");
        Issued own = clients.issue("agent");
        Path key = own.writeKey(file("key.pem"));
        try (FakeMetadataServer metadata = new FakeMetadataServer();
                FakeControlPlane plane = FakeControlPlane.overMutualTls(authority.issue("server"), clients)) {
            metadata.set("instance/id", "4711");
            plane.script().callers(caller -> caller.token().split("\\.", -1).length == 3);
            homeostat.environment("GCE_METADATA_HOST", metadata.host());
            Agent agent = homeostat.agent(AgentConfig.of(homeostat.desired())
                    .with("sources.controlPlane.endpoint", plane.endpoint())
                    .with(
                            "sources.controlPlane.tls.ca",
                            authority.writeCertificate(file("ca.pem")).toString())
                    .with(
                            "sources.controlPlane.tls.certificate",
                            own.writeCertificate(file("cert.pem")).toString())
                    .with("sources.controlPlane.tls.key", key.toString()));

            Caller caller = plane.awaitConnection(Patience.LONGEST).caller();
            homeostat.keepsSecret(caller.token());

            assertEquals("projects/1/zones/z/instances/4711", caller.resource());
            assertEquals("compute.googleapis.com/google-guest-agent", caller.channel());
            assertEquals(
                    "AgentInfo", Bodies.type(plane.ask(Bodies.getAgentInfo()).awaitReply(Patience.LONGEST)));
            assertTrue(metadata.asked().stream()
                    .anyMatch(path -> path.contains("audience=agentcommunication.googleapis.com")));
            assertEquals(List.of(), plane.transcript().violations());
            agent.terminate().exits(0);
        }
    }

    private Path file(String name) {
        return homeostat.directory().resolve(name);
    }
}
