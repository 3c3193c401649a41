package io.homeostat.desired.model.guest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IpPrefixTest {
    @ParameterizedTest
    @CsvSource({
        "10.0.0.2/24, 10.0.0.2/24, 10.0.0.0/24",
        "10.0.0.255/31, 10.0.0.255/31, 10.0.0.254/31",
        "0.0.0.0/0, 0.0.0.0/0, 0.0.0.0/0",
        "10.0.0.2/32, 10.0.0.2/32, 10.0.0.2/32",
        "FD00:0:0::0A/64, fd00::a/64, fd00::/64",
        "fd00::ffff/113, fd00::ffff/113, fd00::8000/113",
    })
    void itIsTheSameHoweverItIsWritten(String text, String shown, String network) {
        IpPrefix prefix = IpPrefix.parse(text);

        assertEquals(shown, prefix.toString());
        assertEquals(prefix, IpPrefix.parse(shown));
        assertEquals(IpPrefix.parse(network), prefix.network());
    }

    @ParameterizedTest
    @CsvSource({
        "10.0.0.2, '''10.0.0.2'' is no address with the length of its prefix, such as 10.0.0.2/24 or fd00::2/64'",
        "host/24, '''host/24'''",
        "10.0.0.2/x, '''10.0.0.2/x'''",
        "10.0.0.2/-1, '''10.0.0.2/-1'''",
        "10.0.0.2/33, '10.0.0.2 has no prefix of 33 bits, but 0 to 32'",
        "fd00::1/129, '129 bits, but 0 to 128'",
        "fe80::1%eth0/64, '''fe80::1%eth0/64'''",
        "/24, '''/24'''",
    })
    void whatIsNoneIsRefused(String text, String why) {
        IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, () -> IpPrefix.parse(text));

        assertTrue(String.valueOf(refused.getMessage()).contains(why), refused.getMessage());
    }
}
