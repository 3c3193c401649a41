package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Users as a file of passwd(5) has them. */
class AccountTest {
    @Test
    void aFileWithBytesThatAreNotUtf8IsReadAllTheSame(@TempDir Path directory) throws IOException {
        Path passwd = Files.write(directory.resolve("passwd"), """
                root:x:0:0:root:/root:/bin/bash
                jose:x:1000:1001:Jos\u00e9:/home/jose:/bin/sh
                broken:x:many:0::/:/bin/sh
                short:x:1

                web:x:2000:2000::/srv/web:
                """.getBytes(StandardCharsets.ISO_8859_1));

        Account web = new Account("web", 2000, 2000, "/srv/web", "");
        assertEquals(Optional.of(web), Account.find(passwd, "web"));
        assertEquals(Optional.of(web), Account.find(passwd, "2000"));
        assertEquals(Optional.of(1001), Account.find(passwd, "jose").map(Account::gid));
        assertEquals(Optional.empty(), Account.find(passwd, "broken"));
        assertEquals(Optional.empty(), Account.find(passwd, "short"));
    }
}
