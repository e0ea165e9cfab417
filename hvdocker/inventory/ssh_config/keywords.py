"""The keywords of OpenSSH's client configuration, in lower case.

OpenSSH stops at a keyword that it does not know, and so does hvdocker: a misspelt `Host` would otherwise make its
block apply to all hosts. The list has the keywords of OpenSSH 10 (readconf.c), the obsolete ones that it ignores,
and those of Debian, Fedora and macOS. If a keyword is not in the list, the ssh program on the controller is asked
whether it knows the keyword, because that program may be newer than the list."""

from __future__ import annotations

import subprocess
from functools import cache

_ASK_TIMEOUT_S = 10.0

_WORDS = """
addkeystoagent addressfamily batchmode bindaddress bindinterface canonicaldomains canonicalizefallbacklocal
canonicalizehostname canonicalizemaxdots canonicalizepermittedcnames casignaturealgorithms certificatefile
channeltimeout checkhostip ciphers clearallforwardings compression connectionattempts connecttimeout
controlmaster controlpath controlpersist dynamicforward enableescapecommandline enablesshkeysign escapechar
exitonforwardfailure fingerprinthash forkafterauthentication forwardagent forwardx11 forwardx11timeout
forwardx11trusted gatewayports globalknownhostsfile gssapiauthentication gssapidelegatecredentials
hashknownhosts host hostbasedacceptedalgorithms hostbasedauthentication hostkeyalgorithms hostkeyalias hostname
identitiesonly identityagent identityfile ignoreunknown include ipqos kbdinteractiveauthentication
kbdinteractivedevices kexalgorithms knownhostscommand localcommand localforward loglevel logverbose macs match
nohostauthenticationforlocalhost numberofpasswordprompts obscurekeystroketiming passwordauthentication
permitlocalcommand permitremoteopen pkcs11provider port preferredauthentications proxycommand proxyjump
proxyusefdpass pubkeyacceptedalgorithms pubkeyauthentication refuseconnection rekeylimit remotecommand
remoteforward requesttty requiredrsasize revokedhostkeys securitykeyprovider sendenv serveralivecountmax
serveraliveinterval sessiontype setenv stdinnull streamlocalbindmask streamlocalbindunlink
stricthostkeychecking syslogfacility tag tcpkeepalive tunnel tunneldevice updatehostkeys user
userknownhostsfile verifyhostkeydns versionaddendum visualhostkey warnweakcrypto xauthlocation

afstokenpassing challengeresponseauthentication cipher compressionlevel dsaauthentication fallbacktorsh
globalknownhostsfile2 hostbasedkeytypes identityfile2 keepalive kerberosauthentication kerberostgtpassing
protocol pubkeyacceptedkeytypes rhostsauthentication rhostsrsaauthentication rsaauthentication skeyauthentication
smartcarddevice tisauthentication useprivilegedport userknownhostsfile2 useroaming usersh

gssapiclientidentity gssapikexalgorithms gssapikeyexchange gssapirenewalforcesrekey gssapiserveridentity
gssapitrustdns protocolkeepalives rsaminsize setuptimeout usekeychain
"""
KEYWORDS = frozenset(_WORDS.split())


def is_keyword(word: str) -> bool:
    """Return whether OpenSSH knows the keyword; `word` is in lower case."""
    return word in KEYWORDS or _is_known_to_ssh(word)


@cache
def _is_known_to_ssh(word: str) -> bool:
    """Return whether the ssh program on the controller knows the keyword.

    Return False if there is no such program or it does not answer in time."""
    command = ("ssh", "-F", "none", "-G", "-o", f"{word}=x", "localhost")
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"Bad configuration option" not in done.stderr
